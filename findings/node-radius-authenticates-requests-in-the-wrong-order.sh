#!/usr/bin/env bash
# Package: radius 1.1.4 (Node 20), seen on 2026-11-30.
# Guess: in an Accounting-Request, CoA-Request or Disconnect-Request the Message-Authenticator is
#   computed over zeros in place of the Request Authenticator, and the Request Authenticator over
#   the whole packet afterwards (RFC 5176, 3.4, and RFC 2866, 3). The package writes and reads that.
# Seen: it computes both the other way round. What it writes it refuses itself; a packet after the
#   standard is refused for its Message-Authenticator. Without that attribute the requests are well.
#   Status-Server, whose authenticator is random, is well too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts radius@1.1.4 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const radius = require("radius");
const crypto = require("crypto");

const secret = "lab secret";

function read(packet) {
  try {
    return radius.decode({ packet: Buffer.from(packet), secret }).code;
  } catch (error) {
    return error.message.replace(/ \(.*/, "");
  }
}

// Computes both fields of a packet that ends with its Message-Authenticator.
function standard(packet) {
  const out = Buffer.from(packet);
  out.fill(0, 4, 20);
  out.fill(0, out.length - 16);
  crypto.createHmac("md5", secret).update(out).digest().copy(out, out.length - 16);
  crypto.createHash("md5").update(out).update(secret).digest().copy(out, 4);
  return out;
}

for (const code of ["Accounting-Request", "CoA-Request", "Disconnect-Request", "Status-Server"]) {
  for (const add of [false, true]) {
    const packet = radius.encode({
      code, secret, identifier: 1, attributes: [["User-Name", "imsi"]],
      add_message_authenticator: add,
    });
    console.log(code + (add ? " with Message-Authenticator" : ""));
    console.log("  its own packet:", read(packet));
    if (add && code !== "Status-Server") {
      console.log("  standard:", read(standard(packet)));
    }
  }
}
JS
seen=$(node run.js 2>/dev/null)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Accounting-Request
  its own packet: Accounting-Request
Accounting-Request with Message-Authenticator
  its own packet: decode: authenticator mismatch
  standard: decode: Message-Authenticator mismatch
CoA-Request
  its own packet: CoA-Request
CoA-Request with Message-Authenticator
  its own packet: decode: authenticator mismatch
  standard: decode: Message-Authenticator mismatch
Disconnect-Request
  its own packet: Disconnect-Request
Disconnect-Request with Message-Authenticator
  its own packet: decode: authenticator mismatch
  standard: decode: Message-Authenticator mismatch
Status-Server
  its own packet: Status-Server
Status-Server with Message-Authenticator
  its own packet: Status-Server
SEEN
