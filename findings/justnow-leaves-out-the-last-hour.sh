#!/usr/bin/env bash
# Package: justnow 0.1.4 (Python 3.11), seen on 2026-11-30.
# Guess: an event in the notation of systemd.time(7), "inspired by systemd.timer" as the package
#   says, elapses when the timer of a rotation would: `*` stands for all 24 hours, and `hourly` is
#   `*-*-* *:00:00`.
# Seen: `*` leaves out 23:00 to 23:59, each day, in "*:00:00" and in the package's own @hourly and
#   @minutely: a timer misses an hour of each day without an error. 23 by its number is there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile justnow==0.1.4
cat >run.py <<'PY'
from datetime import datetime
from justnow.parser import EventParser

start = datetime(2026, 11, 30, 21, 30)  # a Monday
for event, count in [
    ("*-*-* *:00:00", 4),
    ("@hourly", 4),
    ("*-*-* *:30:00", 4),
    ("*-*-* 23:15:00", 2),
    ("@minutely", 90),
]:
    times = EventParser(event=event, reference_date=start).get_next_n(limit=count)
    print(event + ":", *[time.strftime("%a %H:%M,") for time in times][-4:])
PY
seen=$(venv/bin/python -W ignore run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
*-*-* *:00:00: Mon 22:00, Tue 00:00, Tue 01:00, Tue 02:00,
@hourly: Mon 22:00, Tue 00:00, Tue 01:00, Tue 02:00,
*-*-* *:30:00: Mon 21:30, Mon 22:30, Tue 00:30, Tue 01:30,
*-*-* 23:15:00: Mon 23:15, Tue 23:15,
@minutely: Mon 22:56, Mon 22:57, Mon 22:58, Mon 22:59,
SEEN
