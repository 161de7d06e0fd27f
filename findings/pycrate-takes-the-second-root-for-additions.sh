#!/usr/bin/env bash
# Packages: pycrate 0.8.1, and asn1tools 0.169.0 as the second codec (Python 3.11), seen on
#   2026-11-30.
# Guess: what stands behind the second marker of a SEQUENCE belongs to its root (X.680, 25.5): it
#   is in each encoding, without a place in the bitmap of additions (X.691, 19).
# Seen: pycrate takes it for one more addition. A value without additions has the extension bit
#   and a bitmap, the mandatory member may be left out, and of another encoder's octets the member
#   is dropped without an error, in PER and OER. DER has no bitmap and is the same in both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile asn1tools==0.169.0 pycrate==0.8.1
cat >run.py <<'PY'
import contextlib
import io

import asn1tools
from pycrate_asn1c.asnproc import compile_text, generate_modules
from pycrate_asn1c.generator import PycrateGenerator

text = """M DEFINITIONS AUTOMATIC TAGS ::= BEGIN
Cell ::= SEQUENCE { id INTEGER (0..255), ..., power INTEGER (0..255) OPTIONAL, ...,
  barred BOOLEAN }
END"""
with contextlib.redirect_stdout(io.StringIO()):
    compile_text(text)
    generate_modules(PycrateGenerator, "generated.py")
import generated

second = generated.M.Cell
for codec, write, read in [
    ("per", "to_aper", "from_aper"), ("uper", "to_uper", "from_uper"),
    ("oer", "to_coer", "from_coer"), ("der", "to_der", "from_der"),
]:
    value = {"id": 7, "barred": True}
    second.set_val(value)
    octets = asn1tools.compile_string(text, codec).encode("Cell", value)
    print(f"{codec}: asn1tools {octets.hex()} pycrate {getattr(second, write)().hex()}")
    getattr(second, read)(octets)
    print("  pycrate reads asn1tools':", second.get_val())
    second.set_val({"id": 7})
    try:
        print("  pycrate without barred:", getattr(second, write)().hex())
    except Exception as error:
        print("  pycrate without barred:", type(error).__name__)
PY
seen=$(venv/bin/python -W ignore run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
per: asn1tools 000780 pycrate 800702800180
  pycrate reads asn1tools': {'id': 7}
  pycrate without barred: 0007
uper: asn1tools 03c0 pycrate 8381406000
  pycrate reads asn1tools': {'id': 7}
  pycrate without barred: 0380
oer: asn1tools 0007ff pycrate 800702064001ff
  pycrate reads asn1tools': {'id': 7}
  pycrate without barred: 0007
der: asn1tools 30068001078201ff pycrate 30068001078201ff
  pycrate reads asn1tools': {'id': 7, 'barred': True}
  pycrate without barred: 3003800107
SEEN
