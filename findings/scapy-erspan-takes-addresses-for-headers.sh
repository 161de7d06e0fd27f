#!/usr/bin/env bash
# Package: scapy 2.8.0, contrib.erspan (Python 3.11), seen on 2026-11-30.
# Guess: ERSPAN of type I has no header of its own: behind GRE without a sequence number stands
#   the mirrored frame. Type III says in its frame type whether an Ethernet frame (0) or an IP
#   packet (2) follows (draft-foschiano-erspan, 4.1 and 4.3).
# Seen: the first digit of the mirrored frame's destination address is taken for the version. Of
#   frames to 14:... and 2c:... the first 8 or 12 octets are an ERSPAN header, and what is left is
#   read as a frame: the packet inside is lost. Frames to 02:... are right. An IP packet of type
#   III is read as an Ethernet frame whose addresses are octets of the IP header.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
cat >run.py <<'PY'
import struct

from scapy.contrib import erspan  # noqa: F401, it binds its layers to GRE
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

inner = IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=2152, dport=2152) / Raw(b"user data")

def seen(name, gre, frame):
    outer = IP(src="192.0.2.1", dst="192.0.2.2", proto=47) / Raw(gre + bytes(frame))
    print(f"{name}: {IP(bytes(outer)).summary()}")

for address in ("02:00:00:00:00:02", "14:00:00:00:00:02", "2c:00:00:00:00:02"):
    frame = Ether(src="02:00:00:00:00:01", dst=address) / inner
    seen(f"type I to {address[:2]}", struct.pack("!HH", 0, 0x88BE), frame)
for name, kind, frame in [("Ethernet", 0, Ether(src="02:00:00:00:00:01",
                                                dst="14:00:00:00:00:02") / inner),
                          ("IP", 2, inner)]:
    header = struct.pack("!HHIHH", 0x2064, 5, 0x11223344, 0, kind << 10)
    seen(f"type III, {name}", struct.pack("!HHI", 0x1000, 0x22EB, 9) + header, frame)
PY
seen=$(venv/bin/python -W ignore run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
type I to 02: IP / GRE / ERSPAN_I / Ether / IP / UDP 10.0.0.1:2152 > 10.0.0.2:2152 / Raw
type I to 14: IP / GRE / ERSPAN_II / 802.3 45:00:00:25:00:01 > 00:00:00:01:08:00 / Padding
type I to 2c: IP / GRE / ERSPAN_III / ERSPAN_PlatformSpecific / 802.3 0a:00:00:01:0a:00 > 00:00:40:11:66:c5 / Raw / Padding
type III, Ethernet: IP / GRE / ERSPAN_III / Ether / IP / UDP 10.0.0.1:2152 > 10.0.0.2:2152 / Raw
type III, IP: IP / GRE / ERSPAN_III / 00:00:40:11:66:c5 > 45:00:00:25:00:01 (0xa00) / Raw
SEEN
