#!/usr/bin/env bash
# Package: gps-time 3.0.0 (Python 3.11), seen on 2026-11-30.
# Guess: gps2utc and utc2gps turn the times of GPS and UTC into one another with the leap seconds of
#   that instant, and one takes back what the other did. UTC inserted a second at the end of 2016,
#   so GPS was 17 s ahead of UTC until 2016-12-31 23:59:59 and 18 s from 2017 on (IS-GPS-200, 3.3.4).
# Seen: the table has times of UTC, and gps2utc looks up GPS time in it: the leap comes 17 s early.
#   In these seconds UTC comes out one second too small, and the way there and back changes a time by
#   a second. Other instants are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile gps-time==3.0.0
cat >run.py <<'PY'
from datetime import datetime, timedelta, timezone
from gps_time.leapseconds import gps2utc, utc2gps

for text in ["2016-12-31T23:59:42", "2016-12-31T23:59:43", "2016-12-31T23:59:59",
             "2017-01-01T00:00:00"]:
    utc = datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
    gps = utc2gps(utc)
    print(text, "= week", gps.week_number, "second", gps.time_of_week, "=",
          gps2utc(gps).strftime("%Y-%m-%dT%H:%M:%S"))
PY
seen=$(venv/bin/python run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
2016-12-31T23:59:42 = week 1929 second 604799.0 = 2016-12-31T23:59:42
2016-12-31T23:59:43 = week 1930 second 0.0 = 2016-12-31T23:59:42
2016-12-31T23:59:59 = week 1930 second 16.0 = 2016-12-31T23:59:58
2017-01-01T00:00:00 = week 1930 second 18.0 = 2017-01-01T00:00:00
SEEN
