#!/usr/bin/env bash
# Package: bromelia 0.3.1 (Python 3.11), seen on 2026-12-01.
# Guess: a RAT-Type of NR, 1009 (TS 29.212, 5.3.31), of a newer core is read as a number, or the
#   failure is an error that `except Exception` catches.
# Seen: reading the AVP raises AVPAttributeValueError, which is no Exception but a BaseException, as
#   KeyboardInterrupt is. A handler for Exception does not see it. EUTRAN, 1004, is read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile bromelia==0.3.1
cat >run.py <<'PY'
from bromelia import DiameterAVP

for name, value in [("EUTRAN", 1004), ("NR", 1009)]:
    octets = bytes.fromhex("00000408" "c0000010" "000028af") + value.to_bytes(4, "big")
    try:
        read = DiameterAVP.load(octets)[0]
        print(f"{name}: {type(read).__name__} {int.from_bytes(read.data, 'big')}")
    except BaseException as error:
        print(f"{name}: {type(error).__name__}, an Exception: {isinstance(error, Exception)}")
PY
seen=$(venv/bin/python -W ignore run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
EUTRAN: RatTypeAVP 1004
NR: AVPAttributeValueError, an Exception: False
SEEN
