#!/usr/bin/env bash
# Package: stun 2.1.0 (Node 20), seen on 2026-12-01.
# Guess: an error response has its code as class and number (RFC 8489, 14.8): 4 and 38 are 438, a
#   stale nonce. What the package writes is what it reads, and what another one reads.
# Seen: the number is multiplied by four when it is read: 401 is 404, 420 is 480, 438 is 552, so a
#   client does not authenticate again, and 300 and 400 alone are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts stun@2.1.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const stun = require("stun");
const header = "0111000c2112a4420102030405060708090a0b0c";
for (const code of [300, 400, 401, 420, 438, 486, 500]) {
  const error = Buffer.from([0, 0, Math.floor(code / 100), code % 100]);
  const attribute = "00090008" + error.toString("hex") + "74657874";
  const message = stun.decode(Buffer.from(header + attribute, "hex"));
  const written = stun.createMessage(stun.constants.STUN_BINDING_ERROR_RESPONSE);
  written.addError(code, "text");
  const octets = written.toBuffer().subarray(24, 28);
  const read = stun.decode(written.toBuffer()).getError().code;
  console.log(code, "is read as", message.getError().code, "written as", octets.toString("hex"),
    "which is read as", read);
}
JS
seen=$(node --no-deprecation run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
300 is read as 300 written as 00000300 which is read as 300
400 is read as 400 written as 00000400 which is read as 400
401 is read as 404 written as 00000401 which is read as 404
420 is read as 480 written as 00000414 which is read as 480
438 is read as 552 written as 00000426 which is read as 552
486 is read as 744 written as 00000456 which is read as 744
500 is read as 500 written as 00000500 which is read as 500
SEEN
