#!/usr/bin/env bash
# Package: pycose 1.1.0 with cbor2 6.3.0 and 5.9.0 (Python 3.11), seen on 2026-11-30.
# Guess: pycose asks for `cbor2` of any version, and pip installs the newest one without a
#   complaint, so a COSE_Sign1 that pycose has written is read by it.
# Seen: with cbor2 6, arrays behind a tag are tuples, and pycose looks for a list: each tagged
#   message of RFC 9052, its own too, ends in TypeError. Writing and signing go on, so attestation
#   evidence is sent and none is received. With cbor2 5.9.0 all are read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pycose==1.1.0 cbor2==6.3.0
cat >run.py <<'PY'
import cbor2
from pycose.algorithms import A128GCM, Es256, HMAC256
from pycose.headers import IV, Algorithm
from pycose.keys import EC2Key, SymmetricKey
from pycose.messages import CoseMessage, Enc0Message, Mac0Message, Sign1Message

def written():
    signed = Sign1Message(phdr={Algorithm: Es256}, payload=b"evidence")
    signed.key = EC2Key.generate_key(crv="P_256")
    yield signed
    tagged = Mac0Message(phdr={Algorithm: HMAC256}, payload=b"evidence")
    tagged.key = SymmetricKey.generate_key(32)
    yield tagged
    sealed = Enc0Message(phdr={Algorithm: A128GCM}, uhdr={IV: bytes(12)}, payload=b"evidence")
    sealed.key = SymmetricKey.generate_key(16)
    yield sealed

print("array behind a tag:", type(cbor2.loads(bytes.fromhex("d28101")).value).__name__)
for message in written():
    octets = message.encode()
    try:
        print(type(message).__name__, "read as", type(CoseMessage.decode(octets)).__name__)
    except TypeError as error:
        print(type(message).__name__, error)
PY
seen=$(
  venv/bin/pip check
  venv/bin/python run.py
  venv/bin/pip install --quiet --no-compile cbor2==5.9.0
  venv/bin/python run.py
)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
No broken requirements found.
array behind a tag: tuple
Sign1Message Bytes cannot be decoded as COSE message
Mac0Message Bytes cannot be decoded as COSE message
Enc0Message Bytes cannot be decoded as COSE message
array behind a tag: list
Sign1Message read as Sign1Message
Mac0Message read as Mac0Message
Enc0Message read as Enc0Message
SEEN
