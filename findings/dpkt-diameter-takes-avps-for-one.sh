#!/usr/bin/env bash
# Packages: dpkt 1.9.8, and scapy 2.8.0 as the second reader (Python 3.11), seen on 2026-11-30.
# Guess: dpkt reads the AVPs of a Diameter message. The length of an AVP counts its octets without
#   padding, and padding to four octets follows (RFC 6733, 4.1).
# Seen: the padding is not skipped. After a Session-Id of 15 octets, the Origin-Host is read one
#   octet too early: code 1, which is User-Name, length 4194304, and everything up to the end of the
#   message as its value. There is no error, and bytes() returns the octets that were read. Only
#   AVPs whose lengths are multiples of four, as in dpkt's own tests, are read right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile dpkt==1.9.8 scapy==2.8.0
cat >run.py <<'PY'
import struct
import dpkt
from scapy.contrib.diameter import DiamG

def avp(code, value):
    head = struct.pack("!II", code, 0x40 << 24 | 8 + len(value))
    return head + value + bytes(-len(value) % 4)

body = (avp(263, b"mme.example;1;2") + avp(264, b"hss.example.org") + avp(296, b"example.org")
        + avp(277, struct.pack("!I", 1)) + avp(268, struct.pack("!I", 2001)))
octets = struct.pack("!5I", 1 << 24 | 20 + len(body), 0x40 << 24 | 316, 16777251, 1, 2) + body
for one in dpkt.diameter.Diameter(octets).avps:
    print("dpkt", one.code, one.len, bytes(one.data)[:15])
for one in DiamG(octets).avpList:
    if hasattr(one, "avpCode"):
        print("scapy", one.avpCode, one.avpLen, one.val)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
dpkt 263 23 b'mme.example;1;2'
dpkt 1 4194304 b'\x17hss.example.or'
scapy 263 23 b'mme.example;1;2'
scapy 264 23 b'hss.example.org'
scapy 296 19 b'example.org'
scapy 277 12 1
scapy 268 12 2001
SEEN
