#!/usr/bin/env bash
# Package: @fidm/asn1 1.0.4 (Node 20), seen on 2026-11-30.
# Guess: an object identifier is read and written as X.690 has it (8.19): arcs of 32 bits, that of a
#   UUID, and a first octet group of several octets under 2. An object with a tag number above 30
#   is read (8.1.2.4), as SNMP, MMS and cards have it.
# Seen: the arc 4294967295 is read as -1. 2.999.1, the arc for examples, is read as 3.16.55.1 and
#   written as 1.15.1; the arc of a UUID is read as another number, below 0, and written as 2.25 and
#   a 0. A tag number above 30 has "too few bytes".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @fidm/asn1@1.0.4 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { ASN1 } = require("@fidm/asn1");
const answer = (run) => {
  try {
    return run();
  } catch (error) {
    return error.message;
  }
};
for (const [name, octets] of [
  ["1.3.6.1.4.1.32473", "2b0601040181fd59"],
  ["1.3.6.1.4.1.4294967295", "2b060104018fffffff7f"],
  ["2.999.1", "883701"],
  ["2.25.329800735698586629295641978511506172918", "6983f09da7ebcfdee0c7a1a7b2c0948cc8f9d776"],
]) {
  console.log(name, "is read as", ASN1.parseOID(Buffer.from(octets, "hex")));
  console.log("  written", answer(() => ASN1.OID(name).toDER().toString("hex").slice(4)),
    "right is", octets);
}
for (const octets of ["bf1f03020101", "bf870703020101"]) {
  console.log(octets, answer(() => ASN1.fromDER(Buffer.from(octets, "hex")).tag));
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
1.3.6.1.4.1.32473 is read as 1.3.6.1.4.1.32473
  written 2b0601040181fd59 right is 2b0601040181fd59
1.3.6.1.4.1.4294967295 is read as 1.3.6.1.4.1.-1
  written 2b060104018fffffff7f right is 2b060104018fffffff7f
2.999.1 is read as 3.16.55.1
  written 3701 right is 883701
2.25.329800735698586629295641978511506172918 is read as 2.25.-920753162
  written 698000 right is 6983f09da7ebcfdee0c7a1a7b2c0948cc8f9d776
bf1f03020101 Too few bytes to parse.
bf870703020101 Too few bytes to read ASN.1 value length.
SEEN
