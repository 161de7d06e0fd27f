#!/usr/bin/env bash
# Package: pynmeagps 1.1.8 (Python 3.11), seen on 2026-12-01.
# Guess: the second 60 of a leap second, which a receiver sends as 235960 (NMEA 0183, UTC of a
#   position), is an error, or a time with second 59; a fraction of seven digits, of a timing
#   receiver, is cut to the microseconds of Python.
# Seen: the time is the empty text, as of a receiver that has no time, while status, position and
#   date are those of a valid fix. The same goes for each time with more than six digits behind the
#   point. Nothing is raised, whatever the option for errors says.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pynmeagps==1.1.8
cat >run.py <<'PY'
from functools import reduce
from io import BytesIO

from pynmeagps import ERR_RAISE, NMEAReader

for time, status in (("235959.00", "A"), ("235960.00", "A"), ("235960.50", "A"),
                     ("000000.123456", "A"), ("000000.1234567", "A"), ("", "V")):
    position = "5130.0,N,00007.5,W" if time else ",,,"
    text = f"GNRMC,{time},{status},{position},0.0,0.0,311216,,,A,V"
    octets = f"${text}*{reduce(int.__xor__, text.encode()):02X}\r\n".encode()
    ((_, seen),) = NMEAReader(BytesIO(octets), quitonerror=ERR_RAISE)
    print(f"{time!r} {status}: time {str(seen.time)!r}, date {seen.date},",
          f"{seen.lat!r} {seen.lon!r}")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
'235959.00' A: time '23:59:59', date 2016-12-31, 51.5 -0.125
'235960.00' A: time '', date 2016-12-31, 51.5 -0.125
'235960.50' A: time '', date 2016-12-31, 51.5 -0.125
'000000.123456' A: time '00:00:00.123456', date 2016-12-31, 51.5 -0.125
'000000.1234567' A: time '', date 2016-12-31, 51.5 -0.125
'' V: time '', date 2016-12-31, '' ''
SEEN
