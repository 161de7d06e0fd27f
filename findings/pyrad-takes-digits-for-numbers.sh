#!/usr/bin/env bash
# Package: pyrad 2.6.0 (Python 3.11), seen on 2026-11-30.
# Guess: text that is set as an attribute of octets, as State and Class are, is sent as it is. A
#   server that writes "310150" into Class gets it back from the NAS in each Accounting-Request
#   (RFC 2865, 5.25), and octets stay octets.
# Seen: text of digits alone is a number and becomes its big-endian octets: "310150" is sent as three
#   octets, "010" as a line feed, "65" as "A". Octets of a Class that begin with "0x" are decoded as
#   hexadecimal, so a value that was received and is set again has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pyrad==2.6.0
printf 'ATTRIBUTE User-Name 1 string\nATTRIBUTE Class 25 octets\n' >dictionary
cat >run.py <<'PY'
from pyrad.dictionary import Dictionary
from pyrad.packet import AccessAccept, Packet

dictionary = Dictionary("dictionary")
for value in ("slice-1", "310150a", "310150", "010", "65", b"310150", b"0x41"):
    accept = Packet(code=AccessAccept, secret=b"lab", dict=dictionary, authenticator=bytes(16))
    accept["Class"] = value
    print(repr(value), "is sent as", accept["Class"][0])
received = bytes([4, 1, 0, 26]) + bytes(16) + bytes([25, 6]) + b"0x41"
request = Packet(packet=received, dict=dictionary, secret=b"lab")
copy = Packet(code=AccessAccept, secret=b"lab", dict=dictionary, authenticator=bytes(16))
copy["Class"] = request["Class"]
print("received:", request["Class"][0], "copied:", copy["Class"][0])
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
'slice-1' is sent as b'slice-1'
'310150a' is sent as b'310150a'
'310150' is sent as b'\x04\xbb\x86'
'010' is sent as b'\n'
'65' is sent as b'A'
b'310150' is sent as b'310150'
b'0x41' is sent as b'A'
received: b'0x41' copied: b'A'
SEEN
