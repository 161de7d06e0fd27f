#!/usr/bin/env bash
# Package: uttlv 0.7.1 (Python 3.11), seen on 2026-11-30.
# Guess: what the package writes it reads, with lengths of one octet or, from 128 on, in the form 81
#   xx. Elements are kept in their order, with those that have no value and those whose tag occurs
#   twice, as the records of a card (TS 31.102, 4.2) have them.
# Seen: the octet 81 is read as part of the length: an element of 200 octets takes the rest of the
#   message with it. Of two elements with one tag the last is kept, and the message that is written
#   again has one. An element without value is there at the beginning and is not at the end.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile uttlv==0.7.1
cat >run.py <<'PY'
from uttlv import TLV

def show(name, octets):
    tlv = TLV()
    tlv.parse_array(octets)
    print(name + ":", {hex(tag): f"{len(tlv[tag])} octets" for tag in tlv})
    print("  received", len(octets), "octets, written", len(tlv.to_byte_array()))

long = TLV()
long[0x80] = bytes(200)
long[0x81] = b"\x01"
show("200 octets and one more element, as it writes them", long.to_byte_array())
show("two of a tag", bytes.fromhex("80020001 80020002 810103"))
show("empty at the beginning", bytes.fromhex("8000 810103"))
show("empty at the end", bytes.fromhex("810103 8000"))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
200 octets and one more element, as it writes them: {'0x80': '203 octets'}
  received 206 octets, written 206
two of a tag: {'0x80': '2 octets', '0x81': '1 octets'}
  received 11 octets, written 7
empty at the beginning: {'0x80': '0 octets', '0x81': '1 octets'}
  received 5 octets, written 5
empty at the end: {'0x81': '1 octets'}
  received 5 octets, written 3
SEEN
