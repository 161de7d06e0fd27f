#!/usr/bin/env bash
# Package: semantic-sdp 3.31.1 (Node 20), seen on 2026-11-30.
# Guess: an offer of Voice over NR that is read and written again keeps what it says: the clock
#   rates of EVS and AMR-WB, 16000 (TS 26.445, A.3.1; RFC 4867, 8.2), the events 0-15 of
#   telephone-event (RFC 4733, 2.4.1), the packet time, the bandwidth, the preconditions of
#   RFC 3312, the address and the port.
# Seen: each audio codec but opus has the rate 8000, so a peer that reads what is written plays
#   wideband speech at half its speed. The rate is not in the model either. The events are written
#   as 0-15=, packet time, bandwidth, preconditions, address and port are gone. RTCP on the port of
#   RTP (rtcp-mux), which was not offered, is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts semantic-sdp@3.31.1 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { SDPInfo } = require("semantic-sdp");

const offer = [
  "v=0", "o=- 1 1 IN IP6 2001:db8::1", "s=-", "c=IN IP6 2001:db8::1", "t=0 0",
  "m=audio 49152 RTP/AVP 96 97 98", "b=AS:49",
  "a=rtpmap:96 EVS/16000/1", "a=fmtp:96 br=5.9-24.4; bw=nb-swb",
  "a=rtpmap:97 AMR-WB/16000/1", "a=fmtp:97 mode-set=0,1,2; octet-align=1",
  "a=rtpmap:98 telephone-event/16000", "a=fmtp:98 0-15",
  "a=curr:qos local none", "a=des:qos mandatory local sendrecv",
  "a=ptime:20", "a=maxptime:240", "a=sendrecv", "",
].join("\r\n");
const read = SDPInfo.process(offer);
console.log("model:", JSON.stringify(read.plain().medias[0].codecs[0]));
const written = read.toString().split("\r\n");
console.log(written.slice(written.findIndex((line) => line.startsWith("m="))).join("\n").trim());
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
model: {"codec":"EVS","type":96,"params":{"br":"5.9-24.4","bw":"nb-swb"}}
m=audio 9 RTP/AVP 96 97 98
a=rtpmap:96 EVS/8000
a=rtpmap:97 AMR-WB/8000
a=rtpmap:98 telephone-event/8000
a=fmtp:96 br=5.9-24.4;bw=nb-swb
a=fmtp:97 mode-set=0,1,2;octet-align=1
a=fmtp:98 0-15=
a=mid:0
a=sendrecv
a=rtcp-mux
a=rtcp-rsize
SEEN
