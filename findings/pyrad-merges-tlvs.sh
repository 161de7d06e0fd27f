#!/usr/bin/env bash
# Package: pyrad 2.6.0 (Python 3.11), seen on 2026-11-30.
# Guess: an attribute that occurs three times is a list of three, and one with attributes inside
#   (data type tlv) is a list of three groups: a descriptor of QoS with its own ID and its own rates.
# Seen: all occurrences are one group. Three descriptors, with a maximum of 1000 for ID 1, a minimum
#   of 50 for ID 2 and a maximum of 3000 for ID 3, are three IDs, two maxima and one minimum: which
#   rate belongs to which ID is lost. A proxy that writes them again sends one descriptor, in which
#   the minimum stands with ID 1 and the 3000 with ID 2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pyrad==2.6.0
cat >dictionary <<'DICTIONARY'
VENDOR WiMAX 24757
BEGIN-VENDOR WiMAX
ATTRIBUTE Descriptor 29 tlv
ATTRIBUTE Id 29.1 byte
ATTRIBUTE Maximum 29.2 integer
ATTRIBUTE Minimum 29.3 integer
END-VENDOR WiMAX
DICTIONARY
cat >run.py <<'PY'
import struct
from pyrad.dictionary import Dictionary
from pyrad.packet import Packet

def descriptor(*members):
    inner = b"".join(bytes([kind, len(value) + 2]) + value for kind, value in members)
    inner = bytes([29, len(inner) + 2]) + inner
    return bytes([26, len(inner) + 6]) + struct.pack("!I", 24757) + inner

def number(value):
    return struct.pack("!I", value)

sent = (descriptor((1, b"\x01"), (2, number(1000))) + descriptor((1, b"\x02"), (3, number(50)))
        + descriptor((1, b"\x03"), (2, number(3000))))
octets = struct.pack("!BBH", 2, 1, 20 + len(sent)) + bytes(16) + sent
accept = Packet(packet=octets, dict=Dictionary("dictionary"), secret=b"lab")
print("read:", accept["Descriptor"])
print("received:", sent.count(b"\x1a\x11"), "descriptors of", sent[1], "octets")
again = accept.ReplyPacket()[20:]
print("written: one of", again[1], "octets,", len(again), "in all")
inner = again[8:]
while inner:
    print("  ", {1: "Id", 2: "Maximum", 3: "Minimum"}[inner[0]],
          int.from_bytes(inner[2:inner[1]], "big"))
    inner = inner[inner[1]:]
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
read: {'Id': [1, 2, 3], 'Maximum': [1000, 3000], 'Minimum': [50]}
received: 3 descriptors of 17 octets
written: one of 35 octets, 35 in all
   Id 1
   Maximum 1000
   Minimum 50
   Id 2
   Maximum 3000
   Id 3
SEEN
