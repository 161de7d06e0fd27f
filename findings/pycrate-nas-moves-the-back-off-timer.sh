#!/usr/bin/env bash
# Package: pycrate 0.8.1, pycrate_mobile.TS24501_IE (Python 3.11), seen on 2026-11-30.
# Guess: an Extended rejected NSSAI with a back-off timer is read as TS 24.501, 9.11.3.75, draws it:
#   one octet with the type of the list and the number of elements, one with the timer, and the
#   rejected S-NSSAIs.
# Seen: the timer is taken from the second half of the first octet and the first half of the next,
#   the number of elements from what is left. Of one S-NSSAI with a timer of 2 hours nothing is read,
#   without an error; with a timer of 16 hours it is read, and the timer is 30 minutes. Without a timer
#   the same list is read right, and written ones have the timer between the halves too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pycrate==0.8.1
cat >run.py <<'PY'
from pycrate_mobile.TS24501_IE import ExtRejectedNSSAI

def show(title, text):
    rejected = ExtRejectedNSSAI()
    octets = bytes.fromhex(text)
    rejected.from_bytes(octets)
    print(title)
    for part in rejected:
        timer = part["BackOffTimer"]
        waits = "no timer" if timer.get_trans() else "unit %d, value %d" % (
            timer["Unit"].get_val(), timer["Value"].get_val())
        print("  ", waits, [s["SNSSAI"].get_val_d() for s in part["RejectedNSSAI"]])
    print("   octets that were read:", len(rejected.to_bytes()), "of", len(octets))

# SST 1 in one octet, cause 2; unit 1 of GPRS timer 3 is 1 hour, unit 0 is 10 minutes
show("no timer, SST 1", "00 12 01")
show("2 hours, SST 1", "10 22 12 01")
show("16 hours, SST 1", "10 30 12 01")
written = ExtRejectedNSSAI(val=[{"Type": 1, "BackOffTimer": {"Unit": 1, "Value": 2},
                                 "RejectedNSSAI": [{"Cause": 2, "SNSSAI": {"SST": 1}}]}])
print("2 hours, SST 1, written:", written.to_bytes().hex())
PY
seen=$(venv/bin/python run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
no timer, SST 1
   no timer [{'SST': 1}]
   octets that were read: 3 of 3
2 hours, SST 1
   octets that were read: 0 of 4
16 hours, SST 1
   unit 0, value 3 [{'SST': 1}]
   octets that were read: 4 of 4
2 hours, SST 1, written: 12201201
SEEN
