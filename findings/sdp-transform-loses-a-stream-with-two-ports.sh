#!/usr/bin/env bash
# Package: sdp-transform 3.0.0 (Node 20), seen on 2026-11-30.
# Guess: a media line may have a number of ports behind the first one (RFC 8866, 5.14), and its
#   stream is read as each other: kind, port, protocol, formats. What cannot be read is an error,
#   or is among the lines that are `invalid`.
# Seen: of `m=audio 49170/2 RTP/AVP 96` nothing is read. The stream has neither kind nor port nor
#   formats, and the line is nowhere else. Written again, it is `m=undefined NaN undefined`, with
#   the attributes behind it. There is no error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts sdp-transform@3.0.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const transform = require("sdp-transform");

for (const port of ["49170", "49170/1", "49170/2"]) {
  const read = transform.parse("v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nt=0 0\r\n" +
    `m=audio ${port} RTP/AVP 96\r\na=rtpmap:96 EVS/16000/1\r\n`);
  const [{ type, port: first, payloads, invalid }] = read.media;
  console.log(`${port}:`, type, first, payloads, invalid);
  console.log("  ", transform.write(read).split("\r\n").slice(-3).join(" "));
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
49170: audio 49170 96 undefined
   m=audio 49170 RTP/AVP 96 a=rtpmap:96 EVS/16000/1 
49170/1: undefined undefined undefined undefined
   m=undefined NaN undefined  a=rtpmap:96 EVS/16000/1 
49170/2: undefined undefined undefined undefined
   m=undefined NaN undefined  a=rtpmap:96 EVS/16000/1 
SEEN
