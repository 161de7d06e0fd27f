#!/usr/bin/env bash
# Package: chewie 0.0.25, EAPOL and IEEE 802.1X of Faucet (Python 3.11), seen on 2026-11-30.
# Guess: an attribute of an Access-Accept that is not known may be ignored (RFC 2865, 5), the more
#   so as servers of switches with MACsec send EAP-Key-Name (RFC 4072). The length of each
#   EAP-Message attribute is the sender's choice, as long as they stand together (RFC 3579, 3.1).
# Seen: Class, EAP-Key-Name, Termination-Action or Acct-Interim-Interval end in MessageParseError,
#   so the port stays shut though the server let it in. A challenge whose EAP-Message is cut at 240
#   octets has a wrong authenticator, since it is computed over attributes that were cut anew, at
#   253. NAS-Port 0 cannot be written.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile chewie==0.0.25
cat >run.py <<'PY'
import hashlib
import hmac
import struct
from types import SimpleNamespace
from chewie.radius import Radius
from chewie.radius_attributes import NASPort

SECRET, REQUEST = "secret", bytes(range(16))

def attribute(kind, value):
    return bytes([kind, len(value) + 2]) + value

def reply(code, attributes):
    head = struct.pack("!BBH", code, 7, 20 + len(attributes) + 18)
    plain = REQUEST + attributes + attribute(80, bytes(16))
    plain = plain[:-16] + hmac.new(SECRET.encode(), head + plain, "md5").digest()
    return head + hashlib.md5(head + plain + SECRET.encode()).digest() + plain[16:]

def challenge(size):
    eap = struct.pack("!BBHBB", 1, 5, 406, 13, 0) + bytes(400)
    return b"".join(attribute(79, eap[i:i + size]) for i in range(0, len(eap), size))

sent = SimpleNamespace(packet_id_to_request_authenticator={7: REQUEST})
for name, code, attributes in [
    ("Accept with Session-Timeout", 2, attribute(27, bytes([0, 0, 14, 16]))),
    ("Accept with Class", 2, attribute(25, b"gold")),
    ("Accept with EAP-Key-Name", 2, attribute(102, bytes(65))),
    ("Accept with Acct-Interim-Interval", 2, attribute(85, bytes([0, 0, 2, 88]))),
    ("Challenge cut at 253", 11, challenge(253)),
    ("Challenge cut at 240", 11, challenge(240)),
]:
    try:
        packet = Radius.parse(reply(code, attributes), SECRET, sent)
        print(f"{name}: {len(packet.attributes.attributes)} attributes")
    except Exception as error:
        print(f"{name}: {error}, {type(error.__cause__).__name__}")
for port in (1, 0):
    try:
        print(f"NAS-Port {port}:", NASPort.create(port).pack().hex())
    except Exception as error:
        print(f"NAS-Port {port}: {type(error).__name__}")
PY
seen=$(venv/bin/python -W ignore run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Accept with Session-Timeout: 2 attributes
Accept with Class: Cannot find parser for RADIUS attribute 25, KeyError
Accept with EAP-Key-Name: Cannot find parser for RADIUS attribute 102, KeyError
Accept with Acct-Interim-Interval: Cannot find parser for RADIUS attribute 85, KeyError
Challenge cut at 253: 2 attributes
Challenge cut at 240: Unable to validate Radius packet, InvalidResponseAuthenticatorError
NAS-Port 1: 050600000001
NAS-Port 0: error
SEEN
