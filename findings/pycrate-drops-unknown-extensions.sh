#!/usr/bin/env bash
# Packages: pycrate 0.8.1, and asn1tools 0.169.0 as a second codec (Python 3.11), seen on
#   2026-11-29.
# Guess: pycrate keeps what a newer peer has added behind `...` under a name like `_ext_0`, so a
#   message that is read and written again, as a gateway does, stays as it was.
# Seen: that holds for ENUMERATED and CHOICE. An unknown addition of a SEQUENCE is in the value that
#   was read, but is not written; the extension bit stays set with no addition behind it. asn1tools
#   returns None for the first two and leaves the third out.
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

OLD = """Release DEFINITIONS AUTOMATIC TAGS ::= BEGIN
Enumerated ::= SEQUENCE { e ENUMERATED { a, ... }, x INTEGER (0..255) }
Choice ::= SEQUENCE { e CHOICE { a BOOLEAN, ... }, x INTEGER (0..255) }
Sequence ::= SEQUENCE { e SEQUENCE { a BOOLEAN, ... }, x INTEGER (0..255) }
END"""
NEW = OLD.replace("{ a, ... }", "{ a, ..., b }")
NEW = NEW.replace("BOOLEAN, ...", "BOOLEAN, ..., b INTEGER (0..255)")
with contextlib.redirect_stdout(io.StringIO()):
    compile_text(OLD)
    generate_modules(PycrateGenerator, "generated.py")
from generated import Release

sender, receiver = asn1tools.compile_string(NEW, "per"), asn1tools.compile_string(OLD, "per")
for name, value in [("Enumerated", "b"), ("Choice", ("b", 4)), ("Sequence", {"a": True, "b": 4})]:
    data = sender.encode(name, {"e": value, "x": 9})
    mine = getattr(Release, name)
    mine.from_aper(data)
    print(name, data.hex())
    print("  pycrate reads", mine.get_val()["e"], "and writes", mine.to_aper().hex())
    print("  asn1tools reads", receiver.decode(name, data)["e"])
PY
seen=$(venv/bin/python run.py)
echo "$seen"
[ "$seen" = "Enumerated 8009
  pycrate reads _ext_0 and writes 8009
  asn1tools reads None
Choice 80010409
  pycrate reads ('_ext_0', b'\x04') and writes 80010409
  asn1tools reads (None, None)
Sequence c040010409
  pycrate reads {'a': True, '_ext_0': b'\x04'} and writes c009
  asn1tools reads {'a': True}" ] || { echo "changed" >&2; exit 1; }
