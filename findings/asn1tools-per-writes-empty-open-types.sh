#!/usr/bin/env bash
# Packages: asn1tools 0.169.0, and pycrate 0.8.1 as the second codec (Python 3.11), seen on
#   2026-11-30.
# Guess: what PER writes as an open type is a complete encoding of at least one octet: for NULL,
#   an empty SEQUENCE or a type with one value it is one octet of zeros (X.691, 11.1.3 and 11.2).
#   Additions to a SEQUENCE and alternatives behind the marker of a CHOICE are open types.
# Seen: asn1tools writes them with length 0 and no octet, aligned and unaligned. pycrate writes
#   one octet and refuses asn1tools' octets; asn1tools reads both.
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
Step ::= SEQUENCE { a BOOLEAN, ..., b SEQUENCE { } OPTIONAL, c ENUMERATED { only } OPTIONAL,
  d NULL OPTIONAL }
Kind ::= CHOICE { a INTEGER (0..255), ..., b NULL }
END"""
with contextlib.redirect_stdout(io.StringIO()):
    compile_text(text)
    generate_modules(PycrateGenerator, "generated.py")
import generated

def seen(name, value, own):
    for codec, write, read in [("per", "to_aper", "from_aper"), ("uper", "to_uper", "from_uper")]:
        first = asn1tools.compile_string(text, codec)
        second = getattr(generated.M, name)
        second.set_val(own)
        one, other = first.encode(name, value), getattr(second, write)()
        print(f"{name} {value} {codec}: asn1tools {one.hex()} pycrate {other.hex()}")
        try:
            getattr(second, read)(one)
            print("  pycrate reads asn1tools':", second.get_val())
        except Exception as error:
            print("  pycrate reads asn1tools':", type(error).__name__)
        print("  asn1tools reads pycrate's:", first.decode(name, other))

seen("Step", {"a": True, "b": {}}, {"a": True, "b": {}})
seen("Step", {"a": True, "c": "only"}, {"a": True, "c": "only"})
seen("Step", {"a": True, "d": None}, {"a": True, "d": 0})
seen("Kind", ("b", None), ("b", 0))
PY
seen=$(venv/bin/python -W ignore run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Step {'a': True, 'b': {}} per: asn1tools c14000 pycrate c140000100
  pycrate reads asn1tools': CharpyErr
  asn1tools reads pycrate's: {'a': True, 'b': {}}
Step {'a': True, 'b': {}} uper: asn1tools c14000 pycrate c1401000
  pycrate reads asn1tools': CharpyErr
  asn1tools reads pycrate's: {'a': True, 'b': {}}
Step {'a': True, 'c': 'only'} per: asn1tools c12000 pycrate c120000100
  pycrate reads asn1tools': CharpyErr
  asn1tools reads pycrate's: {'a': True, 'c': 'only'}
Step {'a': True, 'c': 'only'} uper: asn1tools c12000 pycrate c1201000
  pycrate reads asn1tools': CharpyErr
  asn1tools reads pycrate's: {'a': True, 'c': 'only'}
Step {'a': True, 'd': None} per: asn1tools c11000 pycrate c110000100
  pycrate reads asn1tools': CharpyErr
  asn1tools reads pycrate's: {'a': True, 'd': None}
Step {'a': True, 'd': None} uper: asn1tools c11000 pycrate c1101000
  pycrate reads asn1tools': CharpyErr
  asn1tools reads pycrate's: {'a': True, 'd': None}
Kind ('b', None) per: asn1tools 8000 pycrate 800100
  pycrate reads asn1tools': CharpyErr
  asn1tools reads pycrate's: ('b', None)
Kind ('b', None) uper: asn1tools 8000 pycrate 800100
  pycrate reads asn1tools': CharpyErr
  asn1tools reads pycrate's: ('b', None)
SEEN
