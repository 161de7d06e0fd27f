#!/usr/bin/env bash
# Packages: scapy 2.8.0, dpkt 1.9.8, pycapng 0.19.7; pktcap 0.1.3 as another reader (Python 3.11);
#   seen on 2026-11-30.
# Guess: captures that were joined by `cat` are read to their end: a pcapng file is one section or
#   more, and a Section Header Block starts with interfaces and a byte order of its own.
# Seen: scapy, dpkt and pycapng go on with the interfaces of the first section: raw IP with
#   nanoseconds is taken for Ethernet and dated tens of thousands of years ahead (pycapng: in 2181,
#   by overflow). When the byte order changes as well, dpkt and pycapng end at the second section as
#   at the end of the file; pycapng says so on standard error only. pktcap and tshark 4.0.17 read
#   both sections.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0 dpkt==1.9.8 pycapng==0.19.7 pktcap==0.1.3
cat >run.py <<'PY'
import struct
import dpkt, pktcap, pycapng
from scapy.utils import RawPcapNgReader

TIME = 1796000000

def block(order, kind, body):
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length

def section(order, link, digits, packet):
    resolution = struct.pack(order + "HHB3xI", 9, 1, digits, 0)
    units = TIME * 10**digits
    return (block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
            + block(order, 1, struct.pack(order + "HHI", link, 0, 0) + resolution)
            + block(order, 6, struct.pack(order + "5I", 0, units >> 32, units & 0xFFFFFFFF,
                                          len(packet), len(packet)) + packet))

ip = bytes.fromhex("4500001c00000000401166cf0a0000010a000002") + bytes.fromhex("0868086800080000")
ethernet = bytes(12) + b"\x08\0" + ip + b"\0\0"
one = section("<", 1, 6, ethernet)
for name, two in ("same order", "<"), ("other order", ">"):
    with open("joined.pcapng", "wb") as out:
        out.write(one + section(two, 101, 9, ip))
    print(name)
    for title, packets in [
        ("pktcap", [(p.linktype, int(p.time)) for p in pktcap.read_frames("joined.pcapng")]),
        ("pycapng", [(p.linktype, p.timestamp_ns // 10**9)
                     for p in pycapng.read_packets("joined.pcapng")]),
        ("scapy", [(m.linktype, (m.tshigh << 32 | m.tslow) // m.tsresol)
                   for _, m in RawPcapNgReader("joined.pcapng")]),
    ]:
        print(f"  {title}: {packets}")
    with open("joined.pcapng", "rb") as file:
        print("  dpkt:", [int(time) for time, _ in dpkt.pcapng.Reader(file)])
PY
seen=$(venv/bin/python run.py)
echo "$seen"
[ "$seen" = "same order
  pktcap: [(1, 1796000000), (101, 1796000000)]
  pycapng: [(1, 1796000000), (1, 6665824850)]
  scapy: [(1, 1796000000), (1, 1796000000000)]
  dpkt: [1796000000, 1796000000000]
other order
  pktcap: [(1, 1796000000), (101, 1796000000)]
  pycapng: [(1, 1796000000)]
  scapy: [(1, 1796000000), (1, 1796000000000)]
  dpkt: [1796000000]" ] || { echo "changed" >&2; exit 1; }
