#!/usr/bin/env bash
# Package: ldif 0.5.1 (Node 20), seen on 2026-12-01.
# Guess: a value with two colons is base64 of octets (RFC 2849), and `userCertificate;binary` comes
#   back as a Buffer, or as base64 that can be decoded. A comment may be folded as any other line.
# Seen: the octets are read as UTF-8: each that is not is replaced, so a certificate, a CRL or a key
#   out of a directory is lost, and what is written again is another value. A folded comment is an
#   error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts ldif@0.5.1 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const ldif = require("ldif");
const octets = Buffer.from("308201f4a003", "hex");
const text = `dn: cn=a\nuserCertificate;binary:: ${octets.toString("base64")}\n`;
const { entries } = ldif.parse(text);
const value = entries[0].toObject().attributes["userCertificate;binary"];
console.log("put in:", octets.toString("hex"));
console.log("given:", typeof value, Buffer.from(value).toString("hex"));
console.log("written:", entries[0].toLDIF().trim().split("\n").pop());
const comments = { "a comment": "# one line", "a folded comment": "# one\n  line" };
for (const [name, comment] of Object.entries(comments)) {
  try {
    console.log(name + ":", ldif.parse(`${comment}\ndn: cn=a\ncn: a\n`).entries.length, "entry");
  } catch (error) {
    console.log(name + ":", error.name);
  }
}
JS
seen=$(node --no-deprecation run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
put in: 308201f4a003
given: string 30efbfbd01efbfbdefbfbd03
written: userCertificate;binary:: MO+/vQHvv73vv70D
a comment: 1 entry
a folded comment: SyntaxError
SEEN
