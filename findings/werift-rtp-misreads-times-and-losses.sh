#!/usr/bin/env bash
# Package: werift-rtp 0.8.9 (Node 20), seen on 2026-12-01.
# Guess: half a second of an NTP time stamp (0x80000000) is 0.5 in the JSON of a report. The
#   number of lost packets has a sign (RFC 3550, 6.4.1): with two duplicates it is -2. A NACK for
#   65535 and the two behind it is for 0 and 1. An XR between reports is kept, or named as unknown.
# Seen: half a second is .2147484, the first digits of the fraction are taken for decimal ones.
#   -2 is 16777214, a loss of each packet. The NACK is for 65536 and 65537, which no packet has.
#   XR and APP are not there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts werift-rtp@0.8.9 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { RtcpPacketConverter } = require("werift-rtp");
const octets = (text) => Buffer.from(text.replace(/ /g, ""), "hex");
const read = (text) => RtcpPacketConverter.deSerialize(octets(text));
const [report] = read("81c8000c 11111111 ee000000 80000000 00000001 00000001 00000001 " +
  "22222222 00fffffe 00000001 00000001 00000001 00000001");
const { ntpTimestamp } = JSON.parse(JSON.stringify(report.senderInfo));
console.log("seconds:", ntpTimestamp);
console.log("lost:", report.reports[0].packetsLost);
const [nack] = read("81cd0003 11111111 22222222 ffff0003");
console.log("asked for:", nack.feedback.lost.join(" "));
console.log("RR, XR, APP:", read("80c90001 11111111 80cf0004 11111111 04000002 ee000000 80000000 " +
  "80cc0003 11111111 504f4331 01020304").map((one) => one.type).join(" "));
JS
seen=$(node --no-deprecation run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
seconds: 3992977408.2147484
lost: 16777214
asked for: 65535 65536 65537
RR, XR, APP: 201
SEEN
