#!/usr/bin/env bash
# Package: rtp-parser 1.0.0 (Node 20), seen on 2026-11-30.
# Guess: the payload of an RTP packet begins behind the contributing sources and, where the bit X
#   is set, behind the header extension, and ends in front of the padding (RFC 3550, 5.1 and
#   5.3.1). The contributing sources begin at octet 12.
# Seen: the header extension and the padding are part of the payload: of a packet with one octet of
#   speech, 11 octets are given. Contributing sources are read from octet 9: source 11 of stream 10
#   is 2560, the second one is 2816.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts rtp-parser@1.0.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { parseRtpPacket } = require("rtp-parser");

function show(name, ...parts) {
  const packet = parseRtpPacket(Buffer.from(parts.join(""), "hex"));
  console.log(`${name}: sources ${packet.csrc}, payload ${packet.payload.toString("hex")}`);
}

const rest = "60" + "0001" + "00000001" + "0000000a";
show("no options", "80", rest, "ff");
show("sources 11 and 12", "82", rest, "0000000b", "0000000c", "ff");
show("audio level", "90", rest, "bede0001", "10aa0000", "ff");
show("padding", "a0", rest, "ff", "000003");
show("audio level and padding", "b0", rest, "bede0001", "10aa0000", "ff", "0002");
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
no options: sources , payload ff
sources 11 and 12: sources 2560,2816, payload ff
audio level: sources , payload bede000110aa0000ff
padding: sources , payload ff000003
audio level and padding: sources , payload bede000110aa0000ff0002
SEEN
