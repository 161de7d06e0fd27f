#!/usr/bin/env bash
# Package: diameter 0.7.0 (Node 20), seen on 2026-11-30.
# Guess: an AVP of type OctetString, as the RAND of an authentication vector or the Visited-PLMN-Id
#   of S6a (TS 29.272) is, is read as octets, and a message that is read and written again, as an
#   agent does, stays as it was. So does a volume of 3 GB in CC-Total-Octets (Unsigned64).
# Seen: OctetString is read as UTF-8. Octets from 0x80 on become U+FFFD, so of a RAND some octets
#   are lost; written again, the message has 104 octets instead of 88. There is no error. A volume
#   whose lower half is 2^31 or more is read right and cannot be written: RangeError. 2 GB and 5 GB
#   can.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  diameter@0.7.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const codec = require("diameter/lib/diameter-codec");

function avp(code, vendor, value) {
  const head = Buffer.alloc(vendor ? 12 : 8);
  head.writeUInt32BE(code, 0);
  head.writeUInt32BE((vendor ? 0xc0 : 0x40) * 0x1000000 + head.length + value.length, 4);
  if (vendor) head.writeUInt32BE(vendor, 8);
  return Buffer.concat([head, value, Buffer.alloc((4 - (value.length % 4)) % 4)]);
}

function message(command, application, ...avps) {
  const body = Buffer.concat([avp(263, 0, Buffer.from("hss;1;2")), ...avps]);
  const head = Buffer.alloc(20);
  head.writeUInt32BE(0x01000000 + 20 + body.length, 0);
  head.writeUInt32BE(0x40000000 + command, 4);
  head.writeUInt32BE(application, 8);
  return Buffer.concat([head, body]);
}

const random = avp(1447, 10415, Buffer.from("23553cbe9637a89d218ae64dae47bf35", "hex"));
const vector = avp(1413, 10415, avp(1414, 10415, random));
const plmn = avp(1407, 10415, Buffer.from("00f110", "hex"));
for (const [name, one] of [["RAND", vector], ["Visited-PLMN-Id", plmn]]) {
  const octets = message(318, 16777251, one);
  const written = codec.encodeMessage(codec.decodeMessage(octets));
  console.log(name, "the same:", written.equals(octets), octets.length, "became", written.length);
}
for (const volume of [2000000000n, 3000000000n, 5000000000n]) {
  const value = Buffer.alloc(8);
  value.writeBigUInt64BE(volume);
  const octets = message(272, 4, avp(421, 0, value));
  const read = codec.decodeMessage(octets);
  try {
    console.log(`${read.body[1]}`, "the same:", codec.encodeMessage(read).equals(octets));
  } catch (error) {
    console.log(`${read.body[1]}`, error.name);
  }
}
JS
seen=$(node --no-deprecation run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
RAND the same: false 88 became 104
Visited-PLMN-Id the same: false 52 became 56
CC-Total-Octets,2000000000 the same: true
CC-Total-Octets,3000000000 RangeError
CC-Total-Octets,5000000000 the same: true
SEEN
