#!/usr/bin/env bash
# Packages: asn1tools 0.169.0, and pycrate 0.8.1 as the second codec (Python 3.11), seen on
#   2026-11-29.
# Guess: a constraint that the PER codec does not support is refused when the module is compiled, as
#   `encode` refuses a BIT STRING longer than its extensible size (NotImplementedError).
# Seen: a lower bound without an upper bound, a union of ranges or sizes, and a size on a named
#   OCTET STRING are accepted and reach the encoding in part or not at all. The octets that pycrate
#   writes by X.691 are read as another value: 128 as -128.
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

TEXT = """Bounds DEFINITIONS AUTOMATIC TAGS ::= BEGIN
Ranged ::= INTEGER (0..255)
Lower ::= INTEGER (0..MAX)
Union ::= INTEGER (1..3 | 7..9)
Sizes ::= OCTET STRING (SIZE (2 | 4))
Octets ::= OCTET STRING
Pair ::= Octets (SIZE (2))
Address ::= BIT STRING (SIZE (1..160, ...))
END"""
with contextlib.redirect_stdout(io.StringIO()):
    compile_text(TEXT)
    generate_modules(PycrateGenerator, "generated.py")
from generated import Bounds

tools = asn1tools.compile_string(TEXT, "per")
for name, value in [("Ranged", 128), ("Lower", 128), ("Union", 8), ("Sizes", b"ab"),
                    ("Pair", b"ab")]:
    mine = getattr(Bounds, name)
    mine.set_val(value)
    data = mine.to_aper()
    try:
        read = tools.decode(name, data)
    except Exception as error:
        read = type(error).__name__
    print(f"{name} {value}: pycrate {data.hex()}, asn1tools {tools.encode(name, value).hex()},",
          f"asn1tools reads pycrate's as {read}")
try:
    tools.encode("Address", (bytes(21), 168))
except NotImplementedError as error:
    print("Address:", error)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
[ "$seen" = "Ranged 128: pycrate 80, asn1tools 80, asn1tools reads pycrate's as 128
Lower 128: pycrate 0180, asn1tools 020080, asn1tools reads pycrate's as -128
Union 8: pycrate 70, asn1tools c0, asn1tools reads pycrate's as 2
Sizes b'ab': pycrate 006162, asn1tools 6162, asn1tools reads pycrate's as b'\x00a'
Pair b'ab': pycrate 6162, asn1tools 026162, asn1tools reads pycrate's as OutOfDataError
Address: BIT STRING extension is not yet implemented." ] || { echo "changed" >&2; exit 1; }
