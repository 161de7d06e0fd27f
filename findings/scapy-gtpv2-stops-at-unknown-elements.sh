#!/usr/bin/env bash
# Package: scapy 2.8.0, contrib.gtp_v2 (Python 3.11), seen on 2026-11-30.
# Guess: an information element that scapy has no class for becomes "IE not implemented", with its
#   octets, and the next element is read: all elements of GTPv2 have the same header.
# Seen: that holds for types above 128. Of the types below, scapy has no class for Trace Information
#   (96), GUTI (117) or F-Container (118), and such an element takes the rest of the message with it:
#   the APN and the Recovery behind Trace Information are one Raw. In a Bearer Context it is the same.
#   A program that looks for an element finds none, without an error. tshark 4.0.17 reads them all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
cat >run.py <<'PY'
import struct
from scapy.contrib.gtp_v2 import GTPHeader

def element(kind, value):
    return struct.pack("!BHB", kind, len(value), 0) + value

def read(name, kind, *elements):
    body = b"".join(elements)
    octets = struct.pack("!BBHII", 0x48, kind, 8 + len(body), 1, 1 << 8) + body
    print(name + ":", [part.name for part in GTPHeader(octets).IE_list])
    return GTPHeader(octets)

trace = element(96, bytes.fromhex("00f110000001") + bytes(24) + bytes([192, 0, 2, 1]))
apn, recovery = element(71, b"\x08internet"), element(3, b"\x07")
read("Signalling Priority Indication (157)", 32, element(157, b"\x01"), apn, recovery)
read("Trace Information (96)", 32, trace, apn, recovery)
container = element(118, b"\x02" + bytes(4))
bearer = element(93, element(73, b"\x05") + container + element(87, bytes(9)))
forward = read("F-Container (118) in a Bearer Context", 32, bearer, recovery)
print("  in it:", [part.name for part in forward.IE_list[0].IE_list])
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Signalling Priority Indication (157): ['IE not implemented', 'IE APN', 'IE Recovery Restart']
Trace Information (96): ['Raw']
F-Container (118) in a Bearer Context: ['IE Bearer Context', 'IE Recovery Restart']
  in it: ['IE EPS Bearer ID', 'Raw']
SEEN
