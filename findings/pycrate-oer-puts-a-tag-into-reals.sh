#!/usr/bin/env bash
# Packages: pycrate 0.8.1, and asn1tools 0.169.0 as the second codec (Python 3.11), seen on
#   2026-11-30.
# Guess: OER writes a REAL without constraint as a length and the contents octets of DER (X.696,
#   12), so 2.5 is 03 80 ff 05 and 0 is the length 0.
# Seen: pycrate writes tag and length of DER in between: 05 09 03 80 ff 05, and 02 09 00 for 0.
#   What asn1tools writes is an error for it, for 0 too, and asn1tools refuses its octets. In PER,
#   whose rule is the same (X.691, 15), both agree.
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
Power ::= REAL
END"""
with contextlib.redirect_stdout(io.StringIO()):
    compile_text(text)
    generate_modules(PycrateGenerator, "generated.py")
import generated

second = generated.M.Power
for number, parts in [(2.5, (5, 2, -1)), (-2.5, (-5, 2, -1)), (0.0, (0, 2, 0))]:
    for codec, write, read in [("oer", "to_coer", "from_coer"), ("per", "to_aper", "from_aper")]:
        first = asn1tools.compile_string(text, codec)
        one = first.encode("Power", number)
        second.set_val(parts)
        other = getattr(second, write)()
        print(f"{number} {codec}: asn1tools {one.hex()} pycrate {other.hex()}")
        for name, reads in [
            ("pycrate reads asn1tools'", lambda: (getattr(second, read)(one), second.get_val())[1]),
            ("asn1tools reads pycrate's", lambda: first.decode("Power", other)),
        ]:
            try:
                print(f"  {name}: {reads()}")
            except Exception as error:
                print(f"  {name}: {type(error).__name__}")
PY
seen=$(venv/bin/python -W ignore run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
2.5 oer: asn1tools 0380ff05 pycrate 05090380ff05
  pycrate reads asn1tools': ASN1BERDecodeErr
  asn1tools reads pycrate's: ValueError
2.5 per: asn1tools 0380ff05 pycrate 0380ff05
  pycrate reads asn1tools': (5, 2, -1)
  asn1tools reads pycrate's: 2.5
-2.5 oer: asn1tools 03c0ff05 pycrate 050903c0ff05
  pycrate reads asn1tools': ASN1BERDecodeErr
  asn1tools reads pycrate's: ValueError
-2.5 per: asn1tools 03c0ff05 pycrate 03c0ff05
  pycrate reads asn1tools': (-5, 2, -1)
  asn1tools reads pycrate's: -2.5
0.0 oer: asn1tools 00 pycrate 020900
  pycrate reads asn1tools': CharpyErr
  asn1tools reads pycrate's: ValueError
0.0 per: asn1tools 00 pycrate 00
  pycrate reads asn1tools': (0, 2, 0)
  asn1tools reads pycrate's: 0.0
SEEN
