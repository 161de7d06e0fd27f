#!/usr/bin/env bash
# Package: queueing-systems 0.1.2 (Python 3.11), seen on 2026-11-30.
# Guess: requests that come at a fixed pace to one server with exponential service times (D/M/1), as
#   periodic reports do, wait x / (1 - x) service times, where x = exp(-(1 - x) / load) (Kleinrock,
#   Queueing Systems, 6.4). A notation that the manual gives as accepted is accepted.
# Seen: D/M/1 is an approximation, of which the manual says nothing: at half load the wait is 0.2
#   service times instead of 0.255, 22 % too short, at a load of 0.2 it is 38 % too long. M/D/1
#   and M/M/1 are exact. `M/M/1` is refused by msqs, whose manual names it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile queueing-systems==0.1.2
cat >run.py <<'PY'
from math import exp

from queueing_systems.functions import msqs, ssqs


def fixed_pace(load):
    x = 0.5 * load
    for _ in range(5000):
        x = exp(-(1 - x) / load)
    return x / (1 - x)


for load in [0.2, 0.5, 0.9]:
    for system, exact in [("md1", load / (1 - load) / 2), ("mm1", load / (1 - load)),
                          ("dm1", fixed_pace(load))]:
        seen = ssqs(qs=system, ar=load, sr=1.0)["wq"]
        print(f"load {load} {system}: {seen:.4f}, exact {exact:.4f}")
print(type(msqs(ar=10, sn=5, sr1=4)).__name__)
print("M/M/1 in ssqs:", ssqs(qs="M/M/1", ar=0.5, sr=1.0)["wq"])
try:
    msqs(ar=1, sn=2, sr1=1, qs="M/M/1")
    print("M/M/1 in msqs: accepted")
except Exception as error:
    print("M/M/1 in msqs:", error)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
load 0.2 md1: 0.1250, exact 0.1250
load 0.2 mm1: 0.2500, exact 0.2500
load 0.2 dm1: 0.0096, exact 0.0070
load 0.5 md1: 0.5000, exact 0.5000
load 0.5 mm1: 1.0000, exact 1.0000
load 0.5 dm1: 0.2000, exact 0.2550
load 0.9 md1: 4.5000, exact 4.5000
load 0.9 mm1: 9.0000, exact 9.0000
load 0.9 dm1: 4.0276, exact 4.1787
dict
M/M/1 in ssqs: 1.0
M/M/1 in msqs: Wrong system type: only "MM1", "MD1", "MG1","DM1","DD1","DG1" are valid
SEEN
