#!/usr/bin/env bash
# Package: os-ken 4.2.2 (Python 3.11), seen on 2026-12-01.
# Guess: a frame of Ethernet OAM whose OpCode the parser of IEEE 802.1ag does not know, as the delay
#   and loss measurements of ITU-T G.8013/Y.1731 of a backhaul link, leaves the Ethernet header, as
#   a frame of an Ethernet type that is not known does.
# Seen: Packet ends in AttributeError, so the Ethernet header is lost too, for alarm indication,
#   loss and delay measurement alike. A continuity check with the identifier of Y.1731 is read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile os-ken==4.2.2
cat >run.py <<'PY'
from os_ken.lib.packet import packet

group = bytes([1, 32, 13]) + b"ABCDEFGHIJKLM" + bytes(32)
check = bytes([0xe0, 1, 4, 70, 0, 0, 0, 1, 0, 1]) + group + bytes(17)
for name, kind, body in (("unknown Ethernet type", "88b5", bytes(46)),
                         ("continuity check", "8902", check),
                         ("alarm indication, 33", "8902", bytes([0xe0, 33, 4, 0]) + bytes(42)),
                         ("loss measurement, 43", "8902", bytes([0xe0, 43, 0, 12]) + bytes(42)),
                         ("delay measurement, 47", "8902", bytes([0xe0, 47, 0, 32]) + bytes(42))):
    octets = bytes.fromhex("0180c2000030020000000001" + kind) + body
    try:
        seen = [type(one).__name__ for one in packet.Packet(octets).protocols]
    except AttributeError as error:
        seen = f"AttributeError: {error}"
    print(f"{name}: {seen}")
PY
seen=$(venv/bin/python run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
unknown Ethernet type: ['ethernet']
continuity check: ['ethernet', 'cfm']
alarm indication, 33: AttributeError: 'NoneType' object has no attribute 'parser'
loss measurement, 43: AttributeError: 'NoneType' object has no attribute 'parser'
delay measurement, 47: AttributeError: 'NoneType' object has no attribute 'parser'
SEEN
