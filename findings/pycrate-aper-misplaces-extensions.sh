#!/usr/bin/env bash
# Packages: pycrate 0.8.1, and asn1tools 0.169.0 as the second codec (Python 3.11), seen on
#   2026-11-29.
# Guess: a codec that carries NGAP, S1AP and E2AP writes aligned PER (ITU-T X.691) that it reads.
# Seen: a SEQUENCE whose type has two extension additions gets an octet too many between the bitmap
#   of additions and the first of them. asn1tools leaves that octet out, as X.691, clause 19, has
#   it: pycrate reads that and refuses its own. With one addition, and in unaligned PER, both agree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pycrate==0.8.1 asn1tools==0.169.0
cat >run.py <<'PY'
import contextlib, io
import asn1tools
from pycrate_asn1c.asnproc import compile_text, generate_modules
from pycrate_asn1c.generator import PycrateGenerator

TEXT = """Extensions DEFINITIONS AUTOMATIC TAGS ::= BEGIN
One ::= SEQUENCE { a BOOLEAN, ..., b INTEGER (0..255) OPTIONAL }
Two ::= SEQUENCE { a BOOLEAN, ..., b INTEGER (0..255) OPTIONAL, c BOOLEAN OPTIONAL }
END"""
with contextlib.redirect_stdout(io.StringIO()):
    compile_text(TEXT)
    generate_modules(PycrateGenerator, "generated.py")
from generated import Extensions

def read(codec, data):
    try:
        codec(data)
        return "read"
    except Exception as error:
        return f"{type(error).__name__}: {error}"

value = {"a": True, "b": 3}
for name in ("One", "Two"):
    mine = getattr(Extensions, name)
    for rules, write, parse in (("per", mine.to_aper, mine.from_aper),
                                ("uper", mine.to_uper, mine.from_uper)):
        mine.set_val(value)
        pycrate = write()
        other = asn1tools.compile_string(TEXT, rules).encode(name, value)
        print(name, rules, "pycrate", pycrate.hex(), "asn1tools", other.hex())
        print("  pycrate reads its own:", read(parse, pycrate))
        print("  pycrate reads the other:", read(parse, other), mine.get_val() == value)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
[ "$seen" = "One per pycrate c0400103 asn1tools c0400103
  pycrate reads its own: read
  pycrate reads the other: read True
One uper pycrate c04040c0 asn1tools c04040c0
  pycrate reads its own: read
  pycrate reads the other: read True
Two per pycrate c0c0000103 asn1tools c0c00103
  pycrate reads its own: CharpyErr: bitlen overflow: 8, max 0
  pycrate reads the other: read True
Two uper pycrate c0c02060 asn1tools c0c02060
  pycrate reads its own: read
  pycrate reads the other: read True" ] || { echo "changed" >&2; exit 1; }
