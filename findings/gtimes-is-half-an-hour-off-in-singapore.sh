#!/usr/bin/env bash
# Package: gtimes 0.6.0 (Python 3.11), seen on 2026-11-30.
# Guess: GPS week and seconds of a UTC time are the same whatever the time zone of the machine,
#   and need no locale: 2026-11-30 10:00:00 UTC is week 2447, second 122418, with 18 leap seconds.
# Seen: both directions count from 1980 in local time and take off today's offset. In a zone that
#   has another offset than in 1980, as Singapore and Kuala Lumpur, the week begins 30 minutes
#   late, and 10:00 comes back as 10:30. UTC and Seoul are right. Where leap seconds are to be
#   found by the library, it sets the locale en_US.UTF-8, and where that is not installed, as in
#   most container images, each call ends in locale.Error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile gtimes==0.6.0
cat >run.py <<'PY'
import os
import time

from gtimes.gpstime import UTCFromGps, gpsFromUTC

for zone in ("UTC", "Asia/Seoul", "Asia/Singapore", "Asia/Kuala_Lumpur"):
    os.environ["TZ"] = zone
    time.tzset()
    week, second, *_ = gpsFromUTC(2026, 11, 30, 10, 0, 0, leapSecs=18)
    back = UTCFromGps(2447, 122418, leapSecs=18)
    print(f"{zone}: week {week} second {second}, back {back}")
os.environ["LOCPATH"] = "/nonexistent"
try:
    print(gpsFromUTC(2026, 11, 30, 10, 0, 0))
except Exception as error:
    print(f"{type(error).__module__}.{type(error).__name__}: {error}")
PY
seen=$(venv/bin/python -W ignore run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
UTC: week 2447 second 122418.0, back (2026, 11, 30, 10, 0, 0.0)
Asia/Seoul: week 2447 second 122418.0, back (2026, 11, 30, 10, 0, 0.0)
Asia/Singapore: week 2447 second 120618.0, back (2026, 11, 30, 10, 30, 0.0)
Asia/Kuala_Lumpur: week 2447 second 120618.0, back (2026, 11, 30, 10, 30, 0.0)
locale.Error: unsupported locale setting
SEEN
