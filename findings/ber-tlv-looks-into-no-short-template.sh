#!/usr/bin/env bash
# Package: ber-tlv 0.0.6, tlvdict 1.2.0 (Python 3.11), seen on 2026-11-30.
# Guess: an element with bit 6 of its tag set holds elements, whatever its length (ISO/IEC 7816-4,
#   5.2.2.1): A1 02 05 00 is a result that is empty. Behind the elements of a file on a SIM,
#   unused octets are FF (TS 102 221, 8.4), and the elements in front can be read.
# Seen: ber-tlv looks into templates of three octets or more alone: A1020500 is two octets, and
#   A103800101 is an element. A template with padding inside is octets too, without an error.
#   Padding behind the elements is UnexpectedEnd in ber-tlv and IndexError in tlvdict, and nothing
#   that stands in front is given. Padding of 00 is skipped.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile ber-tlv==0.0.6 tlvdict==1.2.0
cat >run.py <<'PY'
import tlvdict
from ber_tlv.tlv import Tlv


def report(name, action):
    try:
        print(f"  {name}: {action()}")
    except Exception as error:
        print(f"  {name}: {type(error).__name__}")


for text in ["A103800101", "A1020500", "A10780010100FFFFFF", "80025F01", "80025F010000",
             "80025F01FFFFFF"]:
    print(text)
    report("ber-tlv", lambda: Tlv.parse(bytes.fromhex(text)))
    report("tlvdict", lambda: dict(tlvdict.parse(text)))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
A103800101
  ber-tlv: [(161, [(128, b'\x01')])]
  tlvdict: {'A1': TLVDict([('80', '01')])}
A1020500
  ber-tlv: [(161, b'\x05\x00')]
  tlvdict: {'A1': TLVDict([('05', '')])}
A10780010100FFFFFF
  ber-tlv: [(161, b'\x80\x01\x01\x00\xff\xff\xff')]
  tlvdict: IndexError
80025F01
  ber-tlv: [(128, b'_\x01')]
  tlvdict: {'80': '5F01'}
80025F010000
  ber-tlv: [(128, b'_\x01')]
  tlvdict: {'80': '5F01'}
80025F01FFFFFF
  ber-tlv: UnexpectedEnd
  tlvdict: IndexError
SEEN
