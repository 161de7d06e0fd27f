#!/usr/bin/env bash
# Package: @peculiar/x509 2.2.0 (Node 20); openssl writes the names; seen on 2026-11-30.
# Guess: a distinguished name in RFC 4514's notation, as `openssl -nameopt RFC2253` prints it, is
#   read back as the same name. Octets may be written as a backslash with two hexadecimal digits
#   (2.4), a backslash itself is escaped, and UID is one of the short names of section 3.
# Seen: of an escaped octet the digits become text: "R\C3\A9seau" is the organisation "RC3A9seau",
#   and "a\2Cb" is "a2Cb" (with \, it is right). A value that ends in a backslash is empty, or takes
#   the next RDN into itself; the library prints such names itself. UID and STREET are refused. A CA
#   or a policy that is given names as text gets other names, without an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  @peculiar/x509@2.2.0 reflect-metadata@0.2.2 >npm.log 2>&1 || { cat npm.log; exit 1; }
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out ca.pem \
  -utf8 -subj "/O=R$(printf '\303\251')seau/CN=ca" 2>openssl.log
printed=$(openssl x509 -in ca.pem -noout -subject -nameopt RFC2253)
cat >run.js <<'JS'
require("reflect-metadata");
const fs = require("fs");
const { Name, X509Certificate } = require("@peculiar/x509");

const certificate = new X509Certificate(fs.readFileSync("ca.pem", "utf8"));
console.log("certificate:", JSON.stringify(certificate.subjectName.toJSON()));
const printed = process.argv[2].replace("subject=", "");
for (const text of [printed, "O=a\\2Cb", "O=a\\,b", "O=Core\\\\,CN=ca", "UID=nf1,CN=upf"]) {
  try {
    console.log(text, "->", JSON.stringify(new Name(text).toJSON()));
  } catch (error) {
    console.log(text, "->", error.message);
  }
}
JS
seen=$(node run.js "$printed")
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
certificate: [{"O":["Réseau"]},{"CN":["ca"]}]
CN=ca,O=R\C3\A9seau -> [{"CN":["ca"]},{"O":["RC3A9seau"]}]
O=a\2Cb -> [{"O":["a2Cb"]}]
O=a\,b -> [{"O":["a,b"]}]
O=Core\\,CN=ca -> [{"O":["Core\\,CN=ca"]}]
UID=nf1,CN=upf -> Cannot get OID for name type ''
SEEN
