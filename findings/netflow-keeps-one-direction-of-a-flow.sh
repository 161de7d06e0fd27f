#!/usr/bin/env bash
# Package: netflow 0.12.2 (Python 3.11), seen on 2026-11-30.
# Guess: of a flow with both directions (RFC 5103) the counter of the way back has the number of
#   the other and the enterprise 29305, so both are read. An element of another enterprise is read
#   as octets or under a name of its own. A boolean is 1 or 2 (RFC 7011, 6.1.5), a string may have
#   a variable length (7).
# Seen: the enterprise is not looked at. Of both counters one is left, and which one does not
#   depend on the direction: 1000 octets out and 2 back are the same flow as 2 out and 1000 back.
#   Element 2 of another enterprise is the packet count, element 1234 ends in AttributeError.
#   False is 2, a hardware address a number, and a record with a string of variable length is
#   refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile netflow==0.12.2
cat >run.py <<'PY'
import struct

from netflow import parse_packet

def part(number, content):
    return struct.pack("!HH", number, 4 + len(content)) + content

def seen(name, fields, record):
    template = b"".join(
        struct.pack("!HH", *field) if len(field) == 2
        else struct.pack("!HHI", field[0] | 0x8000, *field[1:]) for field in fields)
    sets = part(2, struct.pack("!HH", 256, len(fields)) + template) + part(256, record)
    packet = struct.pack("!HHIII", 10, 16 + len(sets), 1764496800, 1, 1) + sets
    try:
        flow, = parse_packet(packet, {"netflow": {}, "ipfix": {}}).flows
        print(f"{name}:", *(f"{key} {value}" for key, value in sorted(flow.data.items())))
    except Exception as error:
        print(f"{name}: {type(error).__name__}")

both = [(1, 8), (1, 8, 29305), (4, 1)]
seen("1000 out, 2 back", both, struct.pack("!QQB", 1000, 2, 132))
seen("2 out, 1000 back", both, struct.pack("!QQB", 2, 1000, 132))
seen("element 2 of enterprise 10415", [(1, 8), (2, 4, 10415)], struct.pack("!QI", 1000, 7))
seen("element 1234 of enterprise 10415", [(1, 8), (1234, 4, 10415)], struct.pack("!QI", 1000, 7))
seen("false", [(1, 8), (276, 1)], struct.pack("!QB", 1000, 2))
seen("hardware address", [(56, 6)], bytes.fromhex("020000000001"))
seen("string", [(1, 8), (82, 65535)], struct.pack("!QB", 1000, 3) + b"n3a")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
1000 out, 2 back: octetDeltaCount 1000 protocolIdentifier 132
2 out, 1000 back: octetDeltaCount 1000 protocolIdentifier 132
element 2 of enterprise 10415: octetDeltaCount 1000 packetDeltaCount 7
element 1234 of enterprise 10415: AttributeError
false: dataRecordsReliability 2 octetDeltaCount 1000
hardware address: sourceMacAddress 2199023255553
string: PaddingCalculationError
SEEN
