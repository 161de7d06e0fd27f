#!/usr/bin/env bash
# Package: CoAPthon3 1.0.2 (Python 3.11), seen on 2026-12-01.
# Guess: a payload of CoAP is octets (RFC 7252, 5.5): a LwM2M object in TLV, SenML in CBOR, or an
#   enrolment by EST (RFC 9148), whose format is 281, is handed on as bytes, as CBOR is.
# Seen: octets that are no UTF-8 are bytes in the formats 41, 42, 47 and 60 alone; in each other,
#   and without a format, the whole message is the number 128, the code 4.00 Bad Request. Octets
#   that happen to be UTF-8 are text: the same COSE format gives str for one value and 128 for
#   another.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile CoAPthon3==1.0.2
cat >run.py <<'PY'
from coapthon.serializer import Serializer

for name, form, payload in (
        ("octets", 42, "80ff"), ("CBOR", 60, "a161789f"), ("no format", None, "80ff"),
        ("SenML in CBOR", 112, "81a1"), ("LwM2M in TLV", 11542, "c8ff"),
        ("certificates of EST", 281, "3082ff"), ("COSE that is UTF-8", 98, "d28443"),
        ("COSE that is not", 98, "d284f6")):
    option = b"" if form is None else form.to_bytes(2 if form > 255 else 1, "big")
    head = bytes([0xc0 | len(option)]) + option if option else b""
    message = Serializer().deserialize(
        bytes.fromhex("40450001") + head + b"\xff" + bytes.fromhex(payload), ("192.0.2.1", 5683))
    print(f"{name}:", message if isinstance(message, int) else type(message.payload).__name__)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
octets: bytes
CBOR: bytes
no format: 128
SenML in CBOR: 128
LwM2M in TLV: 128
certificates of EST: 128
COSE that is UTF-8: str
COSE that is not: 128
SEEN
