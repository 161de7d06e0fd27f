#!/usr/bin/env bash
# Package: scapy 2.8.0, contrib.ptp_v2 (Python 3.11), seen on 2026-11-30.
# Guess: flagField of a PTPv2 message is read as IEEE 1588 lays it out: two octets, with twoStepFlag
#   in the first and leap61 to frequencyTraceable in the second; correctionField and
#   logMessageInterval are signed.
# Seen: the two octets have changed places. A two-step Sync announces a leap second (leap59), and an
#   Announce whose flags say "leap59" is a two-step message; the flags of a grandmaster that is
#   traceable to UTC become unicastFlag and profile bits. A correction of -1 ns is near 2^64, 16
#   messages a second (-4) are 252, and neither negative value can be built. tshark 4.0.17 reads
#   flags and interval as IEEE 1588 has them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
cat >run.py <<'PY'
import struct
from scapy.contrib.ptp_v2 import PTP

def message(kind, flags, correction, interval, body):
    return struct.pack("!BBHBBHqIQHHBb", kind, 2, 34 + len(body), 24, 0, flags, correction, 0, 1, 1,
                       7, 0, interval) + body

time = bytes(10)
announce = time + struct.pack("!hBBBBHBQHB", 37, 0, 128, 6, 0x21, 0x4E5D, 128, 1, 0, 0x20)
for name, data in [
    ("two-step Sync, -1 ns, 16 a second", message(0, 0x0200, -0x10000, -4, time)),
    ("Announce, leap59", message(11, 0x0002, 0, -3, announce)),
    ("Announce, offset valid, traceable", message(11, 0x003C, 0, -3, announce)),
]:
    read = PTP(data)
    print(f"{name}: {read.flags}, {read.correctionField}, {read.logMessageInterval}")
for field, value in [("correctionField", -0x10000), ("logMessageInterval", -4)]:
    try:
        bytes(PTP(**{field: value}))
    except ValueError:
        print(f"{field} {value}: ValueError")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
[ "$seen" = "two-step Sync, -1 ns, 16 a second: leap59, 18446744073709486080, 252
Announce, leap59: twoStepFlag, 0, 253
Announce, offset valid, traceable: unicastFlag+bit_3+ptpProfileSpecific1+ptpProfileSpecific2, 0, 253
correctionField -65536: ValueError
logMessageInterval -4: ValueError" ] || { echo "changed" >&2; exit 1; }
