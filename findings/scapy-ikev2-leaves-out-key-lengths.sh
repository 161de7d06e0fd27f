#!/usr/bin/env bash
# Package: scapy 2.8.0, contrib.ikev2 (Python 3.11), seen on 2026-11-30.
# Guess: lengths and counts that are not given are filled in when an IKEv2 message is built, as in
#   other layers of scapy: a transform with a key length has 12 octets, a proposal counts its
#   transforms, an IPv6 traffic selector has 40 octets (RFC 7296, 3.3, 3.11 and 3.13.1).
# Seen: the key length that was given is left out, so AES-GCM is offered without one; a proposal of
#   two transforms counts 0, a Delete of two SPIs of 4 octets says 0 SPIs of 8, and an IPv6 selector
#   of 40 octets says 20. All of it is read back without an error, and right octets are read right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
cat >run.py <<'PY'
from scapy.contrib.ikev2 import (
    IKEv2_Delete, IKEv2_Proposal, IKEv2_Transform, IKEv2_TSi, IPv6TrafficSelector)

encryption = IKEv2_Transform(transform_type=1, transform_id=20, key_length=256)
print("AES-GCM with 256 bits:", bytes(encryption).hex())
print("read:", IKEv2_Transform(bytes(encryption)).key_length)
standard = bytes.fromhex("0000000c01000014800e0100")
print("read from 12 octets:", IKEv2_Transform(standard).key_length)
group = IKEv2_Transform(transform_type=4, transform_id=31)
first = IKEv2_Transform(next_payload=3, length=12, transform_type=1, transform_id=20,
                        key_length=256)
proposal = bytes(IKEv2_Proposal(trans=first / group))
print("transforms of a proposal with two:", proposal[7])
delete = bytes(IKEv2_Delete(proto=3, SPI=[b"\x01\x02\x03\x04", b"\x05\x06\x07\x08"]))
print("Delete of two SPIs:", delete.hex())
print("read:", IKEv2_Delete(delete).SPI)
selector = IPv6TrafficSelector(starting_address_v6="2001:db8::1", ending_address_v6="2001:db8::1")
selectors = bytes(IKEv2_TSi(traffic_selector=[selector]))
print("IPv6 selector:", len(bytes(selector)), "octets, length",
      int.from_bytes(selectors[10:12], "big"))
PY
seen=$(venv/bin/python run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
AES-GCM with 256 bits: 0000000801000014
read: None
read from 12 octets: 256
transforms of a proposal with two: 0
Delete of two SPIs: 00000010030800000102030405060708
read: []
IPv6 selector: 40 octets, length 20
SEEN
