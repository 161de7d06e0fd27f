#!/usr/bin/env bash
# Packages: pycrate 0.8.1, and asn1tools 0.169.0 as the second codec (Python 3.11), seen on
#   2026-11-30.
# Guess: a BIT STRING with named bits is written without the zeros at its end, but for those that
#   its size constraint needs (X.691, 16.2; X.690, 11.2.2): a feature list of 10 bits with the
#   first set is 1 bit, or the 4 bits of SIZE(4..16). A value of fewer bits is filled up.
# Seen: DER is right, PER keeps all ten bits, aligned and unaligned, so one value has several
#   encodings. A value of 1 bit of a SIZE(4..16) is an error. asn1tools writes the shortest form.
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
Features ::= BIT STRING { dual(0), short(1), long(9) }
Sized ::= BIT STRING { dual(0), short(1), long(9) } (SIZE(4..16))
END"""
with contextlib.redirect_stdout(io.StringIO()):
    compile_text(text)
    generate_modules(PycrateGenerator, "generated.py")
import generated

for name, octets, size in [
    ("Features", b"\x80\x00", 10), ("Sized", b"\x80\x00", 10), ("Sized", b"\x80", 1),
]:
    second = getattr(generated.M, name)
    for codec, write in [("der", "to_der"), ("per", "to_aper"), ("uper", "to_uper")]:
        one = asn1tools.compile_string(text, codec).encode(name, (octets, size)).hex()
        try:
            second.set_val((int.from_bytes(octets, "big") >> (-size % 8), size))
            other = getattr(second, write)().hex()
        except Exception as error:
            other = type(error).__name__
        print(f"{name}, {size} bits, {codec}: asn1tools {one} pycrate {other}")
PY
seen=$(venv/bin/python -W ignore run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Features, 10 bits, der: asn1tools 0303068000 pycrate 0303068000
Features, 10 bits, per: asn1tools 0180 pycrate 0a8000
Features, 10 bits, uper: asn1tools 0180 pycrate 0a8000
Sized, 10 bits, der: asn1tools 0303068000 pycrate 0303068000
Sized, 10 bits, per: asn1tools 0080 pycrate 608000
Sized, 10 bits, uper: asn1tools 08 pycrate 6800
Sized, 1 bits, der: asn1tools 03020780 pycrate ASN1ObjErr
Sized, 1 bits, per: asn1tools 0080 pycrate ASN1ObjErr
Sized, 1 bits, uper: asn1tools 08 pycrate ASN1ObjErr
SEEN
