#!/usr/bin/env bash
# Package: ntp-packet-parser 0.5.0 (Node 20), seen on 2026-11-30.
# Guess: poll and precision are signed exponents, root delay and root dispersion are spans of time,
#   and the reference of a secondary server is an address in IPv4 (RFC 5905, 7.3). A timestamp whose
#   first bit is 0 is of the era that began on 2036-02-07 (6).
# Seen: the precision of 2^-20 s is read as 236. Root delay and dispersion are dates
#   of the first of January 1900, their values the milliseconds since. An address is one decimal
#   number. A time of April 2036 is dated in February 1900.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts ntp-packet-parser@0.5.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { NtpPacketParser } = require("ntp-packet-parser");

function answer(transmit) {
  const packet = Buffer.alloc(48);
  packet[0] = 0x24; // version 4, server
  packet[1] = 2; // stratum
  packet.writeInt8(6, 2); // poll, 64 s
  packet.writeInt8(-20, 3); // precision
  packet.writeUInt32BE(0x8000, 4); // root delay, 500 ms in 16.16
  packet.writeUInt32BE(0x4000, 8); // root dispersion, 250 ms
  Buffer.from([192, 0, 2, 1]).copy(packet, 12);
  const seconds = Math.floor(Date.parse(transmit) / 1000) + 2208988800;
  packet.writeUInt32BE(seconds % 2 ** 32, 40);
  return packet;
}
for (const time of ["2026-11-30T10:00:00Z", "2036-04-01T00:00:00Z"]) {
  const read = NtpPacketParser.parse(answer(time));
  console.log("sent at", time);
  console.log("  transmit", read.transmitTimestamp.toISOString());
  console.log("  poll", read.poll, "precision", read.precision, "reference", read.referenceId);
  console.log("  root delay", read.rootDelay.toISOString());
  console.log("  root dispersion", read.rootDispersion.toISOString());
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
sent at 2026-11-30T10:00:00Z
  transmit 2026-11-30T10:00:00.000Z
  poll 6 precision 236 reference 3221225985
  root delay 1900-01-01T00:00:00.500Z
  root dispersion 1900-01-01T00:00:00.250Z
sent at 2036-04-01T00:00:00Z
  transmit 1900-02-23T17:31:44.000Z
  poll 6 precision 236 reference 3221225985
  root delay 1900-01-01T00:00:00.500Z
  root dispersion 1900-01-01T00:00:00.250Z
SEEN
