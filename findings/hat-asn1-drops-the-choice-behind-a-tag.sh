#!/usr/bin/env bash
# Package: hat-asn1 0.7.1, and asn1tools 0.169.0 as the second codec (Python 3.11), seen on
#   2026-11-30.
# Guess: a tag in front of a CHOICE is explicit in a module with IMPLICIT TAGS as well (ITU-T X.680,
#   31.2.7: a CHOICE has no tag that could be replaced), as 3GPP's charging records (TS 32.298) have
#   many. hat-asn1 reads both kinds of tags.
# Seen: the tag replaces that of the alternative: the octets that are written do not say which
#   alternative they are, and there is no error. hat-asn1 does not read its own: "invalid choice",
#   as it says of valid octets. With the word EXPLICIT in the module it is right, and so is a CHOICE
#   without a tag. asn1tools reads and writes the octets in each case.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile hat-asn1==0.7.1 asn1tools==0.169.0
cat >run.py <<'PY'
import pathlib
import asn1tools
from hat import asn1

module = """Charging DEFINITIONS IMPLICIT TAGS ::= BEGIN
Address ::= CHOICE { v4 [0] OCTET STRING, name [1] IA5String }
Record ::= SEQUENCE { id [0] INTEGER, node FIELD OPTIONAL }
END
"""
for field, octets in [
    ("Address", "30098001018004c0000201"),
    ("[2] EXPLICIT Address", "300b800101a2068004c0000201"),
    ("[2] Address", "300b800101a2068004c0000201"),
]:
    path = pathlib.Path("module.asn")
    path.write_text(module.replace("FIELD", field))
    given = bytes.fromhex(octets)
    other = asn1tools.compile_files(str(path), "ber")
    value = other.decode("Record", given)
    print(field)
    print("  asn1tools:", value["node"], "the same:", other.encode("Record", value) == given)
    codec = asn1.ber.BerEncoder(asn1.create_repository(path))
    record = asn1.TypeRef("Charging", "Record")
    try:
        read, rest = codec.decode(record, memoryview(given))
        print("  hat-asn1:", read["node"][0], bytes(read["node"][1]).hex(), "rest", len(rest))
    except ValueError as error:
        print("  hat-asn1, read:", error)
    try:
        written = bytes(codec.encode(record, {"id": 1, "node": ("v4", bytes([192, 0, 2, 1]))}))
        print("  hat-asn1, written:", written.hex(), "the same:", written == given)
        codec.decode(record, memoryview(written))
    except ValueError as error:
        print("  hat-asn1, read again:", error)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Address
  asn1tools: ('v4', b'\xc0\x00\x02\x01') the same: True
  hat-asn1: v4 c0000201 rest 0
  hat-asn1, written: 30098001018004c0000201 the same: True
[2] EXPLICIT Address
  asn1tools: ('v4', b'\xc0\x00\x02\x01') the same: True
  hat-asn1: v4 c0000201 rest 0
  hat-asn1, written: 300b800101a2068004c0000201 the same: True
[2] Address
  asn1tools: ('v4', b'\xc0\x00\x02\x01') the same: True
  hat-asn1, read: invalid choice
  hat-asn1, written: 30098001018204c0000201 the same: False
  hat-asn1, read again: invalid choice
SEEN
