#!/usr/bin/env bash
# Packages: asn1tools 0.169.0, and pycrate 0.8.1 as the second codec (Python 3.11), seen on
#   2026-11-30.
# Guess: a component with a DEFAULT that is absent has that value when it is read, whatever its
#   type; with a default of one member as with one of two.
# Seen: a structure that is absent is read as the text "{", without an error. With a default of
#   one member the component is mandatory: where it is absent, DER ends in
#   MissingMandatoryFieldError and PER, which has a bit less in the preamble, in OutOfDataError. A
#   default that is a value reference is read as its name, "slow". The default of the INTEGER is
#   right.
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

text = """M DEFINITIONS AUTOMATIC TAGS ::= BEGIN
Pair ::= SEQUENCE { up INTEGER (0..255), down INTEGER (0..255) }
One ::= SEQUENCE { up INTEGER (0..255) }
slow Pair ::= { up 1, down 2 }
Two ::= SEQUENCE { rate Pair DEFAULT { up 1, down 2 }, level INTEGER (0..15) DEFAULT 5 }
Single ::= SEQUENCE { rate One DEFAULT { up 1 }, level INTEGER (0..15) DEFAULT 5 }
Named ::= SEQUENCE { rate Pair DEFAULT slow, level INTEGER (0..15) DEFAULT 5 }
END"""
with contextlib.redirect_stdout(io.StringIO()):
    compile_text(text)
    generate_modules(PycrateGenerator, "generated.py")
import generated

for codec, write, read in [("uper", "to_uper", "from_uper"), ("der", "to_der", "from_der")]:
    first = asn1tools.compile_string(text, codec)
    for name in ("Two", "Single", "Named"):
        second = getattr(generated.M, name)
        for value in ({"level": 9}, {}):
            second.set_val(copy.deepcopy(value))
            octets = getattr(second, write)()
            getattr(second, read)(octets)
            print(f"{codec} {name} {octets.hex()}")
            print("  pycrate reads", second.get_val())
            try:
                print("  asn1tools reads", first.decode(name, octets))
            except Exception as error:
                print("  asn1tools:", type(error).__name__)
PY
seen=$(venv/bin/python -W ignore run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
uper Two 64
  pycrate reads {'rate': {'up': 1, 'down': 2}, 'level': 9}
  asn1tools reads {'rate': '{', 'level': 9}
uper Two 00
  pycrate reads {'rate': {'up': 1, 'down': 2}, 'level': 5}
  asn1tools reads {'rate': '{', 'level': 5}
uper Single 64
  pycrate reads {'rate': {'up': 1}, 'level': 9}
  asn1tools: OutOfDataError
uper Single 00
  pycrate reads {'rate': {'up': 1}, 'level': 5}
  asn1tools: OutOfDataError
uper Named 64
  pycrate reads {'rate': {'up': 1, 'down': 2}, 'level': 9}
  asn1tools reads {'rate': 'slow', 'level': 9}
uper Named 00
  pycrate reads {'rate': {'up': 1, 'down': 2}, 'level': 5}
  asn1tools reads {'rate': 'slow', 'level': 5}
der Two 3003810109
  pycrate reads {'level': 9}
  asn1tools reads {'level': 9, 'rate': '{'}
der Two 3000
  pycrate reads {}
  asn1tools reads {'rate': '{', 'level': 5}
der Single 3003810109
  pycrate reads {'level': 9}
  asn1tools: MissingMandatoryFieldError
der Single 3000
  pycrate reads {}
  asn1tools: MissingMandatoryFieldError
der Named 3003810109
  pycrate reads {'level': 9}
  asn1tools reads {'level': 9, 'rate': 'slow'}
der Named 3000
  pycrate reads {}
  asn1tools reads {'rate': 'slow', 'level': 5}
SEEN
