#!/usr/bin/env bash
# Package: asn1-ts 11.1.0 (npm, Node 20), seen on 2026-11-30.
# Guess: a REAL is written with the whole mantissa of a number of JavaScript, 53 bits (X.690,
#   8.5.7), and comes back as the same number. A GeneralizedTime keeps the milliseconds of its
#   Date (X.680, 46.2); a UTCTime of a year that it cannot have is an error.
# Seen: the mantissa is cut to 32 bits without an error: 0.1 comes back as 0.09999999997671694 and
#   1796032800.25, a time in seconds, a quarter of a second early. The 0.1 that other encoders
#   write is an ASN1OverflowError. Milliseconds are left out of a GeneralizedTime, and a UTCTime
#   of 2050 is one of 1950.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  asn1-ts@11.1.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import { DERElement } from "asn1-ts";

function read(octets) {
  const element = new DERElement();
  element.fromBytes(octets);
  return element;
}

for (const number of [2.5, -140.25, 0.1, 1796032800.25, 4294967296.5]) {
  const element = new DERElement();
  element.real = number;
  const octets = Buffer.from(element.toBytes());
  console.log(`${number}: ${octets.subarray(2).toString("hex")} is ${read(octets).real}`);
}
// 0.1 as other encoders write it: 0x1999999999999a times 2 to the -56th.
try {
  console.log("0.1 of another encoder:", read(Buffer.from("090980c81999999999999a", "hex")).real);
} catch (error) {
  console.log("0.1 of another encoder:", error.constructor.name);
}
for (const time of ["2026-11-30T10:00:00.250Z", "2050-01-01T00:00:00.000Z"]) {
  const general = new DERElement();
  general.generalizedTime = new Date(time);
  const short = new DERElement();
  short.utcTime = new Date(time);
  console.log(`${time}: ${general.generalizedTime.toISOString()}, ${short.utcTime.toISOString()}`);
}
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
2.5: 80ff05 is 2.5
-140.25: c0fe0231 is -140.25
0.1: 80df33333333 is 0.09999999997671694
1796032800.25: 800503586a49 is 1796032800
4294967296.5: 802001 is 4294967296
0.1 of another encoder: ASN1OverflowError
2026-11-30T10:00:00.250Z: 2026-11-30T10:00:00.000Z, 2026-11-30T10:00:00.000Z
2050-01-01T00:00:00.000Z: 2050-01-01T00:00:00.000Z, 1950-01-01T00:00:00.000Z
SEEN
