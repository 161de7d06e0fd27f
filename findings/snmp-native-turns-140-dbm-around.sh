#!/usr/bin/env bash
# Package: snmp-native 1.2.0 (Node 20), seen on 2026-11-30.
# Guess: an integer that is set is the one that is read: -140, a level in dBm, has two octets, FF 74
#   (X.690, 8.3.3). A Counter64 is read to the last octet, or as octets.
# Seen: the number of octets is counted without the sign, so each value from -129 to -255 has one
#   octet and is positive: -140 is sent as 116, -40000 as 25536. The package reads its own value as
#   116. From -128 up, and where the first bit is set by chance, it is right. Neighbouring values of
#   a Counter64 beyond 2^53 are one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts snmp-native@1.2.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const ber = require("snmp-native/lib/asn1ber");
for (const value of [-1, -128, -140, -200, -300, -40000, 40000]) {
  const octets = ber.encodeInteger(value);
  console.log(value, octets.subarray(2).toString("hex"), ber.parseInteger(octets));
}
let wrong = 0;
for (let value = -32768; value < 0; value += 1) {
  wrong += ber.parseInteger(ber.encodeInteger(value)) !== value;
}
console.log("wrong of -32768 to -1:", wrong);
for (const last of [0, 1]) {
  console.log("Counter64:", ber.parseInteger(Buffer.from([70, 7, 32, 0, 0, 0, 0, 0, last])));
}

const { Session } = require("snmp-native");
const agent = require("dgram").createSocket("udp4");
agent.on("message", (message) => {
  const { type, value } = require("snmp-native").parse(message).pdu.varbinds[0];
  console.log("an agent that is set to -140 gets type", type, "value", value);
  agent.close();
  session.close();
});
let session;
agent.bind(0, "127.0.0.1", () => {
  session = new Session({ host: "127.0.0.1", port: agent.address().port, timeouts: [60000] });
  session.set({ oid: [1, 3, 6, 1, 4, 1, 32473, 1], type: 2, value: -140 }, () => {});
});
JS
seen=$(node --no-deprecation run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
-1 ff -1
-128 80 -128
-140 74 116
-200 38 56
-300 fed4 -300
-40000 63c0 25536
40000 009c40 40000
wrong of -32768 to -1: 127
Counter64: 9007199254740992
Counter64: 9007199254740992
an agent that is set to -140 gets type 2 value 116
SEEN
