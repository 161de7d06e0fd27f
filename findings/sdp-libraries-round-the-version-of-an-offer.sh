#!/usr/bin/env bash
# Package: sdp 3.2.2, sdp-transform 3.0.0, @webex/ts-sdp 1.7.0 (Node 20), seen on 2026-11-30.
# Guess: the version of a session description may be an NTP timestamp of 64 bits (RFC 8866, 5.2),
#   and a second offer has a version that is greater by one (RFC 3264, 8). A library that reads it
#   keeps its digits, as that of the session identifier beside it.
# Seen: the session identifier stays text, the version becomes a number. 17095969842123456789 and
#   17095969842123456790 are both 17095969842123457000 when sdp reads them and when sdp-transform
#   or ts-sdp writes them: the changed offer has the version of the one before, so a peer may take
#   it for unchanged.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts sdp@3.2.2 sdp-transform@3.0.0 \
  @webex/ts-sdp@1.7.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const sdp = require("sdp");
const transform = require("sdp-transform");
const webex = require("@webex/ts-sdp");

for (const version of ["17095969842123456789", "17095969842123456790"]) {
  const offer = `v=0\r\no=- 17095969842123456789 ${version} IN IP4 192.0.2.1\r\ns=-\r\nt=0 0\r\n` +
    "m=audio 49152 RTP/AVP 96\r\na=rtpmap:96 EVS/16000/1\r\n";
  console.log("read:                 ", offer.split("\r\n")[1]);
  console.log("sdp reads:            ", sdp.parseOLine(offer).sessionVersion);
  console.log("sdp-transform writes: ",
    transform.write(transform.parse(offer)).split("\r\n")[1]);
  console.log("ts-sdp writes:        ", webex.parse(offer).toString().split("\r\n")[1]);
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
read:                  o=- 17095969842123456789 17095969842123456789 IN IP4 192.0.2.1
sdp reads:             17095969842123457000
sdp-transform writes:  o=- 17095969842123456789 17095969842123457000 IN IP4 192.0.2.1
ts-sdp writes:         o=- 17095969842123456789 17095969842123457000 IN IP4 192.0.2.1
read:                  o=- 17095969842123456789 17095969842123456790 IN IP4 192.0.2.1
sdp reads:             17095969842123457000
sdp-transform writes:  o=- 17095969842123456789 17095969842123457000 IN IP4 192.0.2.1
ts-sdp writes:         o=- 17095969842123456789 17095969842123457000 IN IP4 192.0.2.1
SEEN
