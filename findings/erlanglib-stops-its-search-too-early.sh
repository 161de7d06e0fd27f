#!/usr/bin/env bash
# Package: erlanglib 1.2.0 (Python 3.11), seen on 2026-11-30.
# Guess: the traffic that 50 channels carry with a given blocking is the one at which Erlang B gives that
#   blocking, for one call in 10 million as for one in 100. Where more is offered than the servers can
#   do, each call waits, and Erlang C says 1 or an error.
# Seen: the search ends as soon as it is within 0.000001 of the target, whatever the target is: for one
#   in a million the traffic has twice the blocking that was asked for, for one in 10 million it is
#   12.2 Erlang, where the search was on its way, and not 21.8. With too much traffic the probability
#   to wait is 1.19 to 7.1, the time to wait negative, and so is the share that is served in time.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --no-deps erlanglib==1.2.0
cat >run.py <<'PY'
from erlanglib import (
    average_speed_of_answer, calculate_erlangs_from_blocking, erlang_b, erlang_c, service_level)

def search(channels, target):
    low, high = 0.0, float(channels)
    for _ in range(60):
        middle = (low + high) / 2
        if erlang_b(channels, middle) < target:
            low = middle
        else:
            high = middle
    return low

for target in (1e-2, 1e-4, 1e-6, 1e-7):
    traffic = calculate_erlangs_from_blocking(50, target)
    print(f"target {target:.0e}: {traffic:.1f} Erlang with blocking {erlang_b(50, traffic):.1e},",
          f"possible {search(50, target):.1f}")
for offered in (8, 9.5, 10.5, 20):
    waits = erlang_c(10, offered)
    print(f"{offered} Erlang for 10 servers: waits {waits:.2f},",
          f"{average_speed_of_answer(10, offered, waits, 180):.0f} s,",
          f"in time {service_level(10, offered, waits, 20, 180):.2f}")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
target 1e-02: 37.9 Erlang with blocking 1.0e-02, possible 37.9
target 1e-04: 28.9 Erlang with blocking 1.0e-04, possible 28.9
target 1e-06: 24.4 Erlang with blocking 2.0e-06, possible 23.8
target 1e-07: 12.2 Erlang with blocking 3.5e-16, possible 21.8
8 Erlang for 10 servers: waits 0.41, 37 s, in time 0.67
9.5 Erlang for 10 servers: waits 0.83, 297 s, in time 0.22
10.5 Erlang for 10 servers: waits 1.19, -429 s, in time -0.26
20 Erlang for 10 servers: waits 7.09, -128 s, in time -20.52
SEEN
