#!/usr/bin/env bash
# Package: asn1PERser 0.4.3, beside asn1tools 0.169.0 (Python 3.11), seen on 2026-11-30.
# Guess: asn1PERser, which writes Python classes for aligned PER, reads a message of a newer peer by
#   the bits of its additions (X.691 19.7 and 19.8): bit n is addition n, and what it does not know
#   is passed over. An OCTET STRING of 16384 octets is a fragment of 16K and an empty one (11.9.3.8).
# Seen: where the sender knows one addition more, values move: the last known addition is read as
#   the one before it, and the new one as the last known. An octet string of 16384 octets is written
#   with a length of 8192, so that half of it is read, by asn1PERser as well; one octet more is a
#   TypeError. NAS and RRC containers with keys or certificates of ML-DSA can be as long.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile asn1PERser==0.4.3 asn1tools==0.169.0
mkdir classes
cat >run.py <<'PY'
import sys
import asn1tools
from asn1PERser import decode, encode, parse_asn1_schema

def schema(*additions):
    members = "".join(f", {name} INTEGER (0..255) OPTIONAL" for name in additions)
    return f"""Peer DEFINITIONS AUTOMATIC TAGS ::= BEGIN
Served ::= SEQUENCE {{ set INTEGER (0..1023), ...{members} }}
Container ::= OCTET STRING
END"""

parse_asn1_schema(schema("capacity", "backup"), "classes")
sys.path.insert(0, "classes")
import Peer
older = asn1tools.compile_string(schema("capacity", "backup"), "per")
newer = asn1tools.compile_string(schema("capacity", "backup", "paging"), "per")

def read(octets):
    value = decode(octets, asn1Spec=Peer.Served())
    return {name: int(member) for name, member in value.items() if member.isValue}

for value in ({"set": 1, "backup": 20}, {"set": 1, "paging": 30},
              {"set": 1, "backup": 20, "paging": 30}):
    octets = newer.encode("Served", value)
    print(value, octets.hex())
    print("  asn1PERser", read(octets))
    print("  asn1tools ", older.decode("Served", octets))

def attempt(function):
    try:
        return len(function())
    except Exception as error:
        return type(error).__name__

for size in (16383, 16384, 16385):
    octets = b""
    def write():
        global octets
        octets = encode(Peer.Container(bytes(size)))
        return octets
    print(size, "octets: written", attempt(write),
          "read", octets and attempt(lambda: bytes(decode(octets, asn1Spec=Peer.Container()))),
          "by asn1tools", octets and attempt(lambda: older.decode("Container", octets)))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
{'set': 1, 'backup': 20} 80000104800114
  asn1PERser {'set': 1, 'capacity': 20}
  asn1tools  {'set': 1, 'backup': 20}
{'set': 1, 'paging': 30} 8000010440011e
  asn1PERser {'set': 1, 'backup': 30}
  asn1tools  {'set': 1}
{'set': 1, 'backup': 20, 'paging': 30} 80000104c00114011e
  asn1PERser {'set': 1, 'capacity': 20, 'backup': 30}
  asn1tools  {'set': 1, 'backup': 20}
16383 octets: written 16385 read 16383 by asn1tools 16383
16384 octets: written 16387 read 8192 by asn1tools 8192
16385 octets: written TypeError read b'' by asn1tools b''
SEEN
