#!/usr/bin/env bash
# Package: pypcapkit 1.4.1.post2 (Python 3.11 on x86-64), seen on 2026-11-30.
# Guess: a pcap file is read in the order of octets that its magic number tells, the header of the
#   file and the headers of its packets alike.
# Seen: the header of a big-endian file is read well, but the headers of its packets in the order of
#   the machine. The first of three packets of November 2026 is dated March 1987 and has a length of
#   1 GB; the two others are not found, and no error is raised. In either order, `len` is the length
#   that was captured and `cap_len` the length on the wire.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pypcapkit==1.4.1.post2
cat >run.py <<'PY'
import logging
import struct
from pcapkit.interface import extract

logging.disable(logging.CRITICAL)

def write(name, order):
    with open(name, "wb") as out:
        out.write(struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number in range(3):
            frame = bytes(12) + b"\x88\xb5" + bytes(46 + 30 * number)
            out.write(struct.pack(order + "IIII", 1796032800 + number, 250000, len(frame), 1500))
            out.write(frame)

for name, order in [("little", "<"), ("big", ">")]:
    write(name + ".pcap", order)
    read = extract(fin=name + ".pcap", nofile=True, engine="default", store=True)
    print(name, "endian, 3 packets, captured 60, 90 and 120 octets of 1500:")
    for frame in read.frame:
        info = frame.info
        print("  time", info.time_epoch, "len", info.len, "cap_len", info.cap_len)
PY
seen=$(venv/bin/python -W ignore run.py 2>/dev/null)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
little endian, 3 packets, captured 60, 90 and 120 octets of 1500:
  time 1796032800.25 len 60 cap_len 1500
  time 1796032801.25 len 90 cap_len 1500
  time 1796032802.25 len 120 cap_len 1500
big endian, 3 packets, captured 60, 90 and 120 octets of 1500:
  time 541660904.55136 len 1006632960 cap_len 3691315200
SEEN
