#!/usr/bin/env bash
# Package: cbor-sync 1.0.4 (Node 20), with cborg 6.1.5 as the other peer, seen on 2026-11-30.
# Guess: the number behind tag 1 counts seconds from 1970 (RFC 8949, 3.4.2), and octets in a
#   Uint8Array are a byte string. An item of indefinite length is read.
# Seen: the seconds are taken for milliseconds: 2026-09-05 is 1970-01-21. A Uint8Array is written as
#   a map from "0", "1" and so on: a peer has no octets; a Buffer is written right. A text or byte
#   string in pieces ends in an error of the language, while lists and maps in pieces are read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts cbor-sync@1.0.4 cborg@6.1.5 \
  >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import cbor from "cbor-sync";
import { decode } from "cborg";

const octets = (hex) => Buffer.from(hex, "hex");
for (const [title, hex] of [["integer", "c11a6a9c0000"], ["float", "c1fb41daa70000200000"]]) {
  const seconds = decode(octets(hex).subarray(1));
  console.log(title, new Date(seconds * 1000).toISOString(), "is",
    cbor.decode(octets(hex)).toISOString());
}
console.log("Buffer", JSON.stringify([...decode(cbor.encode(Buffer.from([1, 2])))]));
console.log("Uint8Array", JSON.stringify(decode(cbor.encode(new Uint8Array([1, 2])))));
for (const hex of ["9f0102ff", "bf616101ff", "7f61616162ff", "5f41014102ff"]) {
  let seen;
  try {
    seen = JSON.stringify(cbor.decode(octets(hex)));
  } catch (error) {
    seen = error.name;
  }
  console.log(hex, "is", seen);
}
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
integer 2026-09-05T11:41:52.000Z is 1970-01-21T16:50:08.512Z
float 2026-09-05T11:41:52.500Z is 1970-01-21T16:50:08.512Z
Buffer [1,2]
Uint8Array {"0":1,"1":2}
9f0102ff is [1,2]
bf616101ff is {"a":1}
7f61616162ff is TypeError
5f41014102ff is TypeError
SEEN
