#!/usr/bin/env bash
# Package: @oslojs/cbor 1.0.0 (Node 20), with cborg 6.1.5 as the writer, seen on 2026-11-30.
# Guess: 0x1a is followed by an unsigned number of 32 bits, 0 to 4294967295 (RFC 8949, 3), as a
#   5G-TMSI, an IPv4 address or a counter is written.
# Seen: 2147483648 and more, up to 4294967295, end in a TypeError without a text, and the item
#   around them too; so do numbers below -2147483648. Numbers of 64 bits are read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @oslojs/cbor@1.0.0 cborg@6.1.5 \
  >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import { decodeCBORToNativeValue } from "@oslojs/cbor";
import { decode, encode } from "cborg";

const values = [65535, 2147483647, 2147483648, 4294967295, 4294967296, -2147483648, -2147483649,
  { tmsi: 0x6a9c0001 }, { tmsi: 0xca9c0001 }];
for (const value of values) {
  const octets = encode(value);
  let seen;
  try {
    seen = JSON.stringify(decodeCBORToNativeValue(octets, 10)[0]);
  } catch (error) {
    seen = `${error.name} "${error.message}"`;
  }
  console.log(Buffer.from(octets).toString("hex"), JSON.stringify(decode(octets)), "is", seen);
}
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
19ffff 65535 is 65535
1a7fffffff 2147483647 is 2147483647
1a80000000 2147483648 is TypeError ""
1affffffff 4294967295 is TypeError ""
1b0000000100000000 4294967296 is 4294967296
3a7fffffff -2147483648 is -2147483648
3a80000000 -2147483649 is TypeError ""
a164746d73691a6a9c0001 {"tmsi":1788608513} is {"tmsi":1788608513}
a164746d73691aca9c0001 {"tmsi":3399221249} is TypeError ""
SEEN
