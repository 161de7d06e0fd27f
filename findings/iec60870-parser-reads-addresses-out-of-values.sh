#!/usr/bin/env bash
# Package: iec60870-parser 0.1.1 (Python 3.11), seen on 2026-12-01.
# Guess: of a telegram of IEC 60870-5-104, as the power supply of a site sends it, each object gets
#   its address, with a value where the type is known. The cause and the originator are two octets
#   with two meanings. A session follows the send sequence of the peer, which counts its telegrams.
# Seen: an object of a type other than 1 and 30 has no length: the address of the second one is read
#   out of the value of the first, and the telegram is VALID. The originator is part of the cause.
#   A session expects the peer to acknowledge one telegram more with each that it sends: the second
#   in a row is CORRUPTED.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile iec60870-parser==0.1.1
cat >run.py <<'PY'
from struct import pack
from iec60870.parser import T104Session, parse_frame


def telegram(kind, objects, *, sent=0, acknowledged=0, originator=0):
    asdu = bytes([kind, len(objects), 3, originator, 1, 0]) + b"".join(
        address.to_bytes(3, "little") + value for address, value in objects)
    return bytes([0x68, len(asdu) + 4]) + pack("<HH", sent << 1, acknowledged << 1) + asdu


two = [(1, pack("<fB", 1.5, 0)), (2, pack("<fB", 2.5, 0))]
result = parse_frame(telegram(13, two), protocol="t104")
objects = [one["ioa"] for one in result.fields["asdu"]["information_objects"]]
print("two measured values:", result.status.value, objects)
point = [(1, b"\x01")]
asdu = parse_frame(telegram(1, point, originator=5), protocol="t104").fields["asdu"]
print("spontaneous of originator 5:", asdu["cot"])
session = T104Session()
for number in (0, 1):
    result = session.parse(telegram(1, point, sent=number))
    print("telegram", number, "in a session:", result.status.value, result.error)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
two measured values: VALID [1, 12582912]
spontaneous of originator 5: 1283
telegram 0 in a session: VALID None
telegram 1 in a session: CORRUPTED receive sequence mismatch
SEEN
