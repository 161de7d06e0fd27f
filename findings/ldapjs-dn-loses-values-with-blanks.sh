#!/usr/bin/env bash
# Package: @ldapjs/dn 1.1.0 (Node 20), seen on 2026-11-30.
# Guess: a name with an escaped blank at the beginning or the end of a value (RFC 4514, 2.4) keeps
#   the value, as it does with the blank in hexadecimal. Names of attributes are compared without
#   their case (RFC 4512, 1.4), so a name that openssl prints and one of the directory are one.
# Seen: an escaped blank ends the value, in the middle of it too: `a\ b` is `a`, `\ a` is nothing;
#   one in hexadecimal is lost. A backslash at the end of a value is written without its escape, so
#   the name that is written is another, of one part instead of two. CN and cn, O and o are two
#   attributes: the node with a certificate's name is not found below O=Lab.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @ldapjs/dn@1.1.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { DN } = require("@ldapjs/dn");
const answer = (run) => {
  try {
    return run();
  } catch (error) {
    return error.message;
  }
};
for (const name of ["CN=a b,O=Lab", "CN=a\\ b,O=Lab", "CN=\\20a,O=Lab", "CN=\\ a,O=Lab",
  "CN=a\\ ,O=Lab", "CN=a\\  ,O=Lab", "CN=\\#a,O=Lab", "CN=a\\\\,O=Lab"]) {
  console.log(name, "is", answer(() => DN.fromString(name).toString()));
}
const directory = DN.fromString("cn=gnb1,o=Lab");
for (const name of ["cn=gnb1,o=Lab", "CN=gnb1,O=Lab", "cn=GNB1,o=lab"]) {
  console.log(name, "equals cn=gnb1,o=Lab:", directory.equals(name));
}
console.log("below O=Lab:", directory.childOf("O=Lab"), "below o=Lab:", directory.childOf("o=Lab"));
JS
seen=$(node --no-deprecation run.js 2>/dev/null)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
CN=a b,O=Lab is CN=a b,O=Lab
CN=a\ b,O=Lab is CN=a,O=Lab
CN=\20a,O=Lab is CN=a,O=Lab
CN=\ a,O=Lab is CN=,O=Lab
CN=a\ ,O=Lab is CN=a,O=Lab
CN=a\  ,O=Lab is CN=a,O=Lab
CN=\#a,O=Lab is CN=\23a,O=Lab
CN=a\\,O=Lab is CN=a\,O=Lab
cn=gnb1,o=Lab equals cn=gnb1,o=Lab: true
CN=gnb1,O=Lab equals cn=gnb1,o=Lab: false
cn=GNB1,o=lab equals cn=gnb1,o=Lab: false
below O=Lab: false below o=Lab: true
SEEN
