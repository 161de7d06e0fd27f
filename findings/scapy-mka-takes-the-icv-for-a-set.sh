#!/usr/bin/env bash
# Package: scapy 2.8.0 (Python 3.11), seen on 2026-11-29.
# Guess: scapy dissects MKPDUs as MACsec peers send them: the last 16 octets are the integrity
#   check value (ICV), with no ICV Indicator before it, which is needed for other lengths only
#   (IEEE 802.1X-2010, 11.11); the wrapped key of GCM-AES-256 is 40 octets.
# Seen: without an indicator, scapy takes the ICV for one more parameter set. An ICV whose first
#   octet is 1 becomes a second Live Peer List. Of the wrapped key, 24 octets are in the field and
#   16 behind the set. tshark 4.0.17 shows one list, the ICV and all 40 octets.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
cat >run.py <<'PY'
import struct
from scapy.layers.eap import MKAPDU
from scapy.layers.l2 import Ether

def given(*parts):
    body = b"".join(parts)
    ends = bytes.fromhex("0180c2000003") + bytes.fromhex("0242ac110002")
    return Ether(ends + struct.pack("!HBBH", 0x888e, 3, 5, len(body)) + body)[MKAPDU].parameter_sets

basic = (bytes([3, 16, 0xe0, 28 + 16]) + bytes.fromhex("0242ac1100020001") + b"A" * 12
         + struct.pack("!I", 7) + bytes.fromhex("0080c201") + b"0123456789abcdef")
live = bytes([1, 0, 0, 16]) + b"P" * 12 + struct.pack("!I", 5)
sak = (bytes([4, 0x50, 0, 52]) + struct.pack("!I", 1) + bytes.fromhex("0080c20001000002")
       + bytes(range(40)))
indicator = bytes([255, 0, 0, 16])
for first in (0x01, 0xa1):
    icv = bytes([first]) + bytes.fromhex("12000c") + b"C" * 12
    for name, parts in (("with indicator", (indicator, icv)), ("without", (icv,))):
        sets = given(basic, live, *parts)
        print(f"ICV {icv.hex()[:8]}, {name}:", ", ".join(s.name for s in sets))
key = given(basic, live, sak, indicator, icv)[1]
print("wrapped key:", len(key.sak_aes_key_wrap), "octets, behind it:", len(key.payload))
PY
seen=$(venv/bin/python run.py 2>run.err) || { cat run.err >&2; exit 1; }
echo "$seen"
[ "$seen" = "ICV 0112000c, with indicator: Live Peer List Parameter Set, ICV
ICV 0112000c, without: Live Peer List Parameter Set, Live Peer List Parameter Set
ICV a112000c, with indicator: Live Peer List Parameter Set, ICV
ICV a112000c, without: Live Peer List Parameter Set, Raw
wrapped key: 24 octets, behind it: 16" ] || { echo "changed" >&2; exit 1; }
