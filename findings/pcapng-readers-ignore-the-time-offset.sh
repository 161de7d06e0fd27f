#!/usr/bin/env bash
# Packages: scapy 2.8.0, python-pcapng 2.1.1, dpkt 1.9.8 (Python 3.11), seen on 2026-11-29.
# Guess: readers of pcapng that apply an interface's time resolution (if_tsresol, base 2 included)
#   apply its time offset (if_tsoffset) as well. Both options stand in the same block, and probes that
#   count from their own start write the second.
# Seen: dpkt applies it. scapy and python-pcapng apply the resolution and ignore the offset without a
#   warning: a packet of 2026 is dated 1970, so it meets no log or ledger of its day.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet scapy==2.8.0 python-pcapng==2.1.1 dpkt==1.9.8
cat >"$folder/run.py" <<'PY'
import struct
import sys

import dpkt
from pcapng import FileScanner
from scapy.all import rdpcap

BEGAN, AFTER = 1_767_225_600, 0.5
FRAME = bytes.fromhex("020000000002020000000001080045000012000100004011f9d80a0000010a000002") + bytes(8)

def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)

def block(kind, body):
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length

def capture(path, resolution, ticks, offset):
    options = option(9, bytes([resolution])) + option(14, struct.pack("<q", offset)) + option(0, b"")
    packet = struct.pack("<IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(FRAME), len(FRAME)) + FRAME + bytes(-len(FRAME) % 4)
    with open(path, "wb") as file:
        file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        file.write(block(1, struct.pack("<HHI", 1, 0, 0) + options))
        file.write(block(6, packet))

def seen(path):
    with open(path, "rb") as file:
        yield "dpkt", next(iter(dpkt.pcapng.Reader(file)))[0]
    yield "scapy", rdpcap(path)[0].time
    with open(path, "rb") as file:
        yield "python-pcapng", next(one.timestamp for one in FileScanner(file) if hasattr(one, "timestamp"))

path = sys.argv[1] + "/offset.pcapng"
# 2 to the minus 20 seconds.
capture(path, 0x80 | 20, int(AFTER * 2**20), BEGAN)
for reader, time in seen(path):
    print(reader, {BEGAN + AFTER: "applies the offset", AFTER: "ignores the offset"}.get(float(time), time))
PY
seen=$("$folder/venv/bin/python" "$folder/run.py" "$folder")
echo "$seen"
[ "$seen" = "dpkt applies the offset
scapy ignores the offset
python-pcapng ignores the offset" ] || { echo "changed" >&2; exit 1; }
