#!/usr/bin/env bash
# Package: imei 0.0.1 (npm, Node 20), seen on 2026-11-30.
# Guess: next gives the IMEI of the following serial number, 15 digits with the check digit (TS
#   23.003, 6.2.1), for each IMEI that isValid accepts. Type allocation codes of North America
#   begin with 01.
# Seen: the digits are added as a number, so leading zeros are lost: 011982003456783 is followed
#   by 14 digits, which isValid refuses. Of other codes the next one is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  imei@0.0.1 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const imei = require("imei");
for (const each of ["490154203237518", "011982003456783"]) {
  imei.next(each, (error, next) => console.log(
    each, imei.isValid(each), "next", error ?? next, error ? "" : imei.isValid(next)));
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
490154203237518 true next 490154203237526 true
011982003456783 true next 11982003456791 false
SEEN
