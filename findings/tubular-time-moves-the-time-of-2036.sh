#!/usr/bin/env bash
# Package: @tubular/time 3.10.7 (Node 20), seen on 2026-11-30.
# Guess: TAI, the time scale of PTP, is ahead of UTC by 37 s since 2017 (IERS Bulletin C), in days to
#   come as well, as no leap second is announced. A time that is turned into TAI and back is the
#   same time.
# Seen: for a time some years ahead, the difference is a forecast of the rotation of the Earth: 42.1
#   s in June 2036, as its documentation says. The way back, a DateTime from `tai` of that value,
#   takes off 37 s: the end of a certificate in 2036 moves by 5 s, of 2050 by 13 s.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @tubular/time@3.10.7 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import { DateTime } from "@tubular/time";

for (const text of ["2016-12-31T23:59:59Z", "2026-06-30T10:00:00Z", "2036-06-30T10:00:00Z",
  "2050-06-30T10:00:00Z"]) {
  const time = new DateTime(text, "UTC");
  const back = new DateTime({ tai: time.taiMillis }, "UTC");
  const ahead = ((time.taiMillis - time.utcMillis) / 1000).toFixed(1);
  console.log(text, "TAI is ahead by", ahead, "s, and back it is", back.format());
}
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
2016-12-31T23:59:59Z TAI is ahead by 36.0 s, and back it is 2016-12-31T23:59:59.000+00:00
2026-06-30T10:00:00Z TAI is ahead by 37.0 s, and back it is 2026-06-30T10:00:00.000+00:00
2036-06-30T10:00:00Z TAI is ahead by 42.1 s, and back it is 2036-06-30T10:00:05.107+00:00
2050-06-30T10:00:00Z TAI is ahead by 50.4 s, and back it is 2050-06-30T10:00:13.381+00:00
SEEN
