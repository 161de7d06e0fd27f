#!/usr/bin/env bash
# Package: @harmoniclabs/cbor 2.0.1 (Node 20), with cborg 6.1.5 as the writer, seen on 2026-11-30.
# Guess: floating-point numbers of 32 and 64 bits come in network byte order, as those of 16 bits do
#   (RFC 8949, 3.3): a measured 1.1 is 1.1.
# Seen: those of 16 bits are right. Those of 32 and 64 bits are read in the other order: 1.1 is
#   -1.5e-180 and 100000.5 is 3.26, without an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @harmoniclabs/cbor@2.0.1 cborg@6.1.5 \
  >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import { Cbor } from "@harmoniclabs/cbor";
import { decode, encode } from "cborg";

for (const value of [0.5, -2.25, 100000.5, 1.1, -101.3]) {
  const octets = encode(value);
  const hex = Buffer.from(octets).toString("hex");
  console.log(hex, "of", decode(octets), "is", Cbor.parse(octets).simple);
}
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
f93800 of 0.5 is 0.5
f9c080 of -2.25 is -2.25
fa47c35040 of 100000.5 is 3.261918783187866
fb3ff199999999999a of 1.1 is -1.5423487136706484e-180
fbc059533333333333 of -101.3 is 4.667261460215515e-62
SEEN
