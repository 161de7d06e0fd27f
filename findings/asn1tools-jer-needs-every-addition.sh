#!/usr/bin/env bash
# Packages: asn1tools 0.169.0, and pycrate 0.8.1 as the second codec (Python 3.11), seen on
#   2026-11-30.
# Guess: a value without an extension addition is the value of an older version, so it is written
#   in JSON and XML as in PER and OER (X.680, 25.4). A GeneralizedTime is the same time in all
#   encodings.
# Seen: JER and XER refuse to write it, though they read it; DER, PER and OER do both. A datetime
#   of Python without a zone is UTC for DER and PER, which write 20261130100000Z. OER, JER and XER
#   write 202611301000, which is local time (X.680, 46.3).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile asn1tools==0.169.0 pycrate==0.8.1
cat >run.py <<'PY'
import datetime

import asn1tools

text = """M DEFINITIONS AUTOMATIC TAGS ::= BEGIN
Event ::= SEQUENCE { id INTEGER (0..255), ..., level INTEGER (0..255) }
Moment ::= GeneralizedTime
END"""
older = """M DEFINITIONS AUTOMATIC TAGS ::= BEGIN
Event ::= SEQUENCE { id INTEGER (0..255), ... }
END"""

def seen(what, action):
    try:
        print(f"  {what}:", action())
    except Exception as error:
        print(f"  {what}: {type(error).__name__} {error}")

for codec in ("jer", "xer", "der", "per", "oer"):
    newer = asn1tools.compile_string(text, codec)
    octets = asn1tools.compile_string(older, codec).encode("Event", {"id": 7})
    print(codec)
    seen("without the addition", lambda: newer.encode("Event", {"id": 7}))
    seen("of an older version", lambda: newer.decode("Event", octets))
    seen("time", lambda: newer.encode("Moment", datetime.datetime(2026, 11, 30, 10, 0, 0)))
PY
seen=$(venv/bin/python -W ignore run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
jer
  without the addition: EncodeError Event: Sequence member 'level' not found in {'id': 7}.
  of an older version: {'id': 7}
  time: b'"202611301000"'
xer
  without the addition: EncodeError Event: Sequence member 'level' not found in {'id': 7}.
  of an older version: {'id': 7}
  time: b'<Moment>202611301000</Moment>'
der
  without the addition: b'0\x03\x80\x01\x07'
  of an older version: {'id': 7}
  time: b'\x18\x0f20261130100000Z'
per
  without the addition: b'\x00\x07'
  of an older version: {'id': 7}
  time: b'\x0f20261130100000Z'
oer
  without the addition: b'\x00\x07'
  of an older version: {'id': 7}
  time: b'\x0c202611301000'
SEEN
