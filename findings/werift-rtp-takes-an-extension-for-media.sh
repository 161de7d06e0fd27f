#!/usr/bin/env bash
# Package: werift-rtp 0.8.9 (Node 20), seen on 2026-12-01.
# Guess: a header extension ends where its length says, whatever is in it: an element with ID 15
#   ends the elements (RFC 8285, 4.2), the payload begins behind the extension. The application bits
#   of the form with two octets (0x1000 to 0x100f) change nothing.
# Seen: behind an element with ID 15 the rest of the extension is part of the payload, so the
#   decoder of the codec gets octets that are no media. With application bits each element is lost:
#   there is one with the ID 0 and the octets of all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts werift-rtp@0.8.9 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { RtpPacket } = require("werift-rtp");
const read = (extension) => {
  const header = "906000010000000100000001";
  const packet = RtpPacket.deSerialize(Buffer.from(header + extension + "ddee", "hex"));
  const hex = (one) => one.payload.toString("hex");
  const elements = packet.header.extensions.map((one) => `${one.id}=${hex(one)}`);
  return `${elements.join(" ")}, payload ${hex(packet)}`;
};
console.log("one octet:", read("bede0002" + "10aa" + "21bbcc" + "000000"));
console.log("behind ID 15:", read("bede0002" + "10aa" + "f1bbcc" + "000000"));
console.log("two octets:", read("10000002" + "0101aa00" + "0202bbcc"));
console.log("with application bits:", read("10050002" + "0101aa00" + "0202bbcc"));
JS
seen=$(node --no-deprecation run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
one octet: 1=aa 2=bbcc, payload ddee
behind ID 15: 1=aa, payload bbcc000000ddee
two octets: 1=aa 2=bbcc, payload ddee
with application bits: 0=0101aa000202bbcc, payload ddee
SEEN
