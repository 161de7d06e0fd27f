#!/usr/bin/env bash
# Packages: asn1tools 0.169.0, and pycrate 0.8.1 as the second codec (Python 3.11), seen on
#   2026-11-30.
# Guess: OER writes an extension addition group as one addition, a SEQUENCE with a preamble of its
#   own (X.696, 16.2.3 and 16.5). A UTF8String has a length whatever its size constraint, since a
#   character has no fixed number of octets; a BMPString of fixed size has none (27).
# Seen: asn1tools writes each member of a group as an addition, so the bitmap has three bits
#   instead of two and an optional member has no preamble. A UTF8String (SIZE(3)) has no length,
#   so \u00e9 takes an octet of the next member with it: the value is not read again. A BMPString
#   (SIZE(2)) has a length. pycrate writes all three as X.696 has them, and each refuses or
#   misreads the other.
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
Group ::= SEQUENCE { a INTEGER (0..255), ..., [[ b BOOLEAN, c INTEGER (0..255) OPTIONAL ]],
  d BOOLEAN }
Name ::= SEQUENCE { name UTF8String (SIZE(3)), last INTEGER (0..255) }
Wide ::= SEQUENCE { name BMPString (SIZE(2)), last INTEGER (0..255) }
END"""
with contextlib.redirect_stdout(io.StringIO()):
    compile_text(text)
    generate_modules(PycrateGenerator, "generated.py")
import generated

first = asn1tools.compile_string(text, "oer")
for name, value in [
    ("Group", {"a": 1, "b": True, "c": 7, "d": True}), ("Group", {"a": 1, "b": True, "d": True}),
    ("Name", {"name": "upf", "last": 5}), ("Name", {"name": "upé", "last": 5}),
    ("Wide", {"name": "up", "last": 5}),
]:
    second = getattr(generated.M, name)
    second.set_val(value)
    one, other = first.encode(name, value), second.to_coer()
    print(value, f"asn1tools {one.hex()} pycrate {other.hex()}", sep="\n  ")
    for reader, read in [
        ("asn1tools, its own", lambda: first.decode(name, one)),
        ("asn1tools, the other's", lambda: first.decode(name, other)),
        ("pycrate, the other's", lambda: (second.from_coer(one), second.get_val())[1]),
    ]:
        try:
            print(f"  {reader}: {ascii(read())}")
        except Exception as error:
            print(f"  {reader}: {type(error).__name__}")
PY
seen=$(venv/bin/python -W ignore run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
{'a': 1, 'b': True, 'c': 7, 'd': True}
  asn1tools 80010205e001ff010701ff pycrate 80010206c00380ff0701ff
  asn1tools, its own: {'a': 1, 'b': True, 'c': 7, 'd': True}
  asn1tools, the other's: OutOfDataError
  pycrate, the other's: CharpyErr
{'a': 1, 'b': True, 'd': True}
  asn1tools 80010205a001ff01ff pycrate 80010206c00200ff01ff
  asn1tools, its own: {'a': 1, 'b': True, 'd': True}
  asn1tools, the other's: OutOfDataError
  pycrate, the other's: CharpyErr
{'name': 'upf', 'last': 5}
  asn1tools 75706605 pycrate 0375706605
  asn1tools, its own: {'name': 'upf', 'last': 5}
  asn1tools, the other's: {'name': '\x03up', 'last': 102}
  pycrate, the other's: CharpyErr
{'name': 'upé', 'last': 5}
  asn1tools 7570c3a905 pycrate 047570c3a905
  asn1tools, its own: UnicodeDecodeError
  asn1tools, the other's: {'name': '\x04up', 'last': 195}
  pycrate, the other's: CharpyErr
{'name': 'up', 'last': 5}
  asn1tools 040075007005 pycrate 0075007005
  asn1tools, its own: {'name': 'up', 'last': 5}
  asn1tools, the other's: {'name': '', 'last': 117}
  pycrate, the other's: {'name': '\u0400\u7500', 'last': 112}
SEEN
