#!/usr/bin/env bash
# Package: asn1vnparser 0.2.3 with pyparsing 2.4.7 (Python 3.11), seen on 2026-11-30.
# Guess: value notation is read as X.680 has it: -3.5 is negative (21.6), as -3 is (19.9), a real
#   has any number of digits in front of its point and one or more in its exponent (12.9), and a
#   comment stands where a blank may (12.6). Decoders print measurements of the RAN like this.
# Seen: -3.5 is read as 3.5, and so is each negative real of a CHOICE or a list; -3 is right. With
#   two digits in front of the point a real is refused, as is 2.5E9, where 2.5E10 is read, and a
#   comment, and an object identifier with names.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile asn1vnparser==0.2.3 pyparsing==2.4.7 bitarray==3.8.0
cat >run.py <<'PY'
from asn1vnparser import parse_asn1_value

for text in [
    "-3", "-3.5", "3.5", "quality : -9.5", "{-3.5, 2.0}", "{rsrp -140, sinr 3.5}", "-140.5", "12.5",
    "2.5E10", "2.5E9", "{a 5 -- comment\n, b 6}", "{iso member-body(2) 840}",
]:
    try:
        read = parse_asn1_value(text)
    except Exception as error:
        read = type(error).__name__
    print(repr(text), "->", read)
PY
seen=$(venv/bin/python -W ignore run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
'-3' -> -3
'-3.5' -> 3.5
'3.5' -> 3.5
'quality : -9.5' -> {'quality': 9.5}
'{-3.5, 2.0}' -> [3.5, 2.0]
'{rsrp -140, sinr 3.5}' -> {'rsrp': -140, 'sinr': 3.5}
'-140.5' -> ParseException
'12.5' -> ParseException
'2.5E10' -> 25000000000.0
'2.5E9' -> ParseException
'{a 5 -- comment\n, b 6}' -> ParseException
'{iso member-body(2) 840}' -> ParseException
SEEN
