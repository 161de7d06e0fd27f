#!/usr/bin/env bash
# Package: sdp 3.2.2, @webex/ts-sdp 1.7.0 (Node 20), seen on 2026-11-30.
# Guess: a format parameter is a name, an equal sign and a value, and the value may have equal
#   signs of its own: the parameter sets of H.264 are base64 (RFC 6184, 8.1), as a video call over
#   NR offers them. Blanks may stand behind a semicolon, as in the examples of RFC 4867 (8.3).
# Seen: sdp cuts the value at its second equal sign: of aM48gA== it keeps aM48gA, and writes
#   that. ts-sdp refuses the whole offer. Where there are blanks, its parameter is named " bw", so
#   bw is not found.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  sdp@3.2.2 @webex/ts-sdp@1.7.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const sdp = require("sdp");
const webex = require("@webex/ts-sdp");

const video = "profile-level-id=42e00c;sprop-parameter-sets=Z0LgDJZUCg+S,aM48gA==";
const parameters = sdp.parseFmtp(`a=fmtp:99 ${video}`);
console.log("sdp reads", parameters["sprop-parameter-sets"]);
console.log("sdp writes", sdp.writeFmtp({ payloadType: 99, parameters }).trim());
for (const line of ["packetization-mode=0", video]) {
  try {
    const read = webex.parse("v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nt=0 0\r\n" +
      `m=video 49152 RTP/AVP 99\r\na=rtpmap:99 H264/90000\r\na=fmtp:99 ${line}\r\n`);
    console.log(`ts-sdp reads ${read.avMedia.length} stream with ${line}`);
  } catch (error) {
    console.log("ts-sdp:", error.message);
  }
}
console.log("ts-sdp names", [...webex.parseFmtpParams("br=5.9-24.4; bw=nb-swb").keys()]);
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
sdp reads Z0LgDJZUCg+S,aM48gA
sdp writes a=fmtp:99 profile-level-id=42e00c;sprop-parameter-sets=Z0LgDJZUCg+S,aM48gA
ts-sdp reads 1 stream with packetization-mode=0
ts-sdp: Fmtp params is invalid with profile-level-id=42e00c;sprop-parameter-sets=Z0LgDJZUCg+S,aM48gA==
ts-sdp names [ 'br', ' bw' ]
SEEN
