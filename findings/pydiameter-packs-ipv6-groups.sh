#!/usr/bin/env bash
# Package: pyDiameter 0.18.7.15 (Python 3.11), seen on 2026-11-30.
# Guess: address_to_bytes writes the value of an AVP of type Address (RFC 6733, 4.3.1) for each
#   way in which an IPv6 address may be written (RFC 4291, 2.2), as ipaddress of the standard
#   library reads it.
# Seen: the digits of all groups are put together without their leading zeros. Where their number
#   is even, the value is another address, or has less than 16 octets, without an error: a
#   Host-IP-Address or the address of a subscriber is wrong on the wire. Where it is odd, as in
#   2001:db8::1, the end is an AssertionError. What bytes_to_address gives with its parameter
#   compress cannot be written again.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pyDiameter==0.18.7.15
cat >run.py <<'PY'
import ipaddress
from pyDiameter.pyDiaAVPTools import address_to_bytes, bytes_to_address

for text in ("2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1", "2001:db8:1::1",
             "2001:db8:10:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "2001:db8::", "::1"):
    right = ipaddress.IPv6Address(text)
    try:
        made = address_to_bytes(("ipv6", text))[2:]
    except AssertionError:
        print(f"{text}: AssertionError")
        continue
    if made == right.packed:
        print(f"{text}: right")
    elif len(made) == 16:
        print(f"{text}: {ipaddress.IPv6Address(made)}")
    else:
        print(f"{text}: {len(made)} octets")
octets = b"\0\2" + ipaddress.IPv6Address("2001:db8::1:0:0:1").packed
kind, text = bytes_to_address(octets, 1)
try:
    print(f"{text} and back: {address_to_bytes((kind, text)) == octets}")
except AssertionError:
    print(f"{text} and back: AssertionError")
PY
seen=$(venv/bin/python -W ignore run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
2001:0db8:0000:0000:0000:0000:0000:0001: right
2001:db8::1: AssertionError
2001:db8:1::1: 2001:db81::1
2001:db8:10:2:3:4:5:6: 7 octets
2001:db8:1:2:3:4:5:6: AssertionError
2001:db8::: AssertionError
::1: right
2001:0db8::1:0:0:0001 and back: AssertionError
SEEN
