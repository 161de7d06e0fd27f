#!/usr/bin/env bash
# Package: pytlv 0.71 (Python 3.11), seen on 2026-11-30.
# Guess: a value of 128 octets or more has a length of two octets or more, 81 80 for 128
#   (ISO/IEC 7816-4, 5.2.2.2), as a certificate or a profile on an eSIM has it. What is built can be
#   read. Two elements with one tag are two, and octets 00 between elements are padding
#   (ISO/IEC 7816-4, 5.2.2).
# Seen: a length is always one octet. Of 81 80 the octet 81 is taken for a length: the value begins
#   with 80. 128 octets are written with the length 80, which stands for an indefinite length.
#   256 octets are written with 0100: a length of one octet, and the rest are other elements. Of two
#   elements with one tag the last is kept, padding is a ValueError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pytlv==0.71
cat >run.py <<'PY'
from pytlv.TLV import TLV


def report(name, action):
    try:
        value = action()
        print(f"{name}: {value if len(str(value)) < 60 else str(value)[:60] + '...'}")
    except ValueError as error:
        print(f"{name}: ValueError, {error}")


tags = TLV(["80", "81", "7F21"])
for count in [127, 128, 255, 256]:
    print(count, "octets are written as", tags.build({"7F21": "AA" * count})[:12] + "...")
for length, count in [("7F", 127), ("8180", 128), ("81C8", 200)]:
    report(f"7F21 {length}", lambda: tags.parse("7F21" + length + "AA" * count)["7F21"])
report("two elements 80", lambda: dict(tags.parse("800101800102")))
report("padding", lambda: dict(tags.parse("8001010000")))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
127 octets are written as 7F217FAAAAAA...
128 octets are written as 7F2180AAAAAA...
255 octets are written as 7F21FFAAAAAA...
256 octets are written as 7F210100AAAA...
7F21 7F: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA...
7F21 8180: 80AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA...
7F21 81C8: ValueError, Unknown tag found: AAAAAAAAAA
two elements 80: {'80': '02'}
padding: ValueError, Unknown tag found: 0000
SEEN
