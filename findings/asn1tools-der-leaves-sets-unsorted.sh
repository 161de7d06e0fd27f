#!/usr/bin/env bash
# Packages: asn1tools 0.169.0, and pycrate 0.8.1 as the second codec (Python 3.11), seen on
#   2026-11-30.
# Guess: DER writes the components of a SET in the order of their tags (X.690, 10.3), those of a
#   SET OF in the order of their octets (11.6), and nothing for a value that is the default
#   (11.5). Call records of charging and certificates are such types.
# Seen: SET OF is sorted, SET is not: components keep the order of the module, so one value has
#   other octets than another encoder's, and a signature or digest over them does not match. A
#   structured component that is the default is written; one of a number is left out.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile asn1tools==0.169.0 pycrate==0.8.1
cat >run.py <<'PY'
import contextlib
import copy
import io

import asn1tools
from pycrate_asn1c.asnproc import compile_text, generate_modules
from pycrate_asn1c.generator import PycrateGenerator

text = """M DEFINITIONS IMPLICIT TAGS ::= BEGIN
Record ::= SET { duration [3] INTEGER, cause [1] INTEGER, served [0] OCTET STRING }
Names ::= SET OF IA5String
Limit ::= SEQUENCE { rate SEQUENCE { up INTEGER, down INTEGER } DEFAULT { up 1, down 2 },
  level INTEGER DEFAULT 5 }
END"""
with contextlib.redirect_stdout(io.StringIO()):
    compile_text(text)
    generate_modules(PycrateGenerator, "generated.py")
import generated

first = asn1tools.compile_string(text, "der")
for name, value in [
    ("Record", {"duration": 60, "cause": 4, "served": b"a"}), ("Names", ["smf", "amf"]),
    ("Limit", {"rate": {"up": 1, "down": 2}, "level": 5}),
]:
    second = getattr(generated.M, name)
    second.set_val(copy.deepcopy(value))
    one = first.encode(name, value).hex()
    print(value, f"asn1tools {one}", f"pycrate   {second.to_der().hex()}", sep="\n  ")
PY
seen=$(venv/bin/python -W ignore run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
{'duration': 60, 'cause': 4, 'served': b'a'}
  asn1tools 310983013c810104800161
  pycrate   310980016181010483013c
['smf', 'amf']
  asn1tools 310a1603736d661603616d66
  pycrate   310a1603736d661603616d66
{'rate': {'up': 1, 'down': 2}, 'level': 5}
  asn1tools 30083006020101020102
  pycrate   3000
SEEN
