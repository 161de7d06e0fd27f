#!/usr/bin/env bash
# Package: gsm0338 1.1.0 (Python 3.11), seen on 2026-11-30.
# Guess: the codec gsm03.38, once it is registered, is used as each other codec of Python: for
#   octets, for a file, piece by piece. An escape in front of a character without a place in the
#   extension table shows the character of the default alphabet, and a second escape a blank
#   (TS 23.038, 6.2.1.1).
# Seen: str.encode and bytes.decode work. A text file and the incremental encoder and decoder end
#   in AttributeError. Both kinds of escape end in UnicodeDecodeError, and with errors="replace" the
#   character behind the escape is gone. An escape at the end is dropped in silence, in strict mode
#   too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile gsm0338==1.1.0
cat >run.py <<'PY'
import codecs
import io

import gsm0338

NAME = "gsm03.38"


def report(name, action):
    try:
        print(f"{name}: {action()!r}")
    except (AttributeError, UnicodeDecodeError) as error:
        print(f"{name}: {type(error).__name__}")


report("encode", lambda: "5 €".encode(NAME))
report("decode", lambda: b"5 \x1be".decode(NAME))
report("text file", lambda: io.TextIOWrapper(io.BytesIO(b"5 \x1be"), encoding=NAME).read())
report("incremental encoder", lambda: codecs.getincrementalencoder(NAME)().encode("5"))
report("incremental decoder", lambda: codecs.getincrementaldecoder(NAME)().decode(b"5"))
for octets in [b"x\x1bAz", b"x\x1b\x1bz", b"x\x1b"]:
    report(f"strict {octets.hex()}", lambda: octets.decode(NAME))
    report(f"replace {octets.hex()}", lambda: octets.decode(NAME, "replace"))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
encode: b'5 \x1be'
decode: '5 €'
text file: AttributeError
incremental encoder: AttributeError
incremental decoder: AttributeError
strict 781b417a: UnicodeDecodeError
replace 781b417a: 'x�z'
strict 781b1b7a: UnicodeDecodeError
replace 781b1b7a: 'x�z'
strict 781b: 'x'
replace 781b: 'x'
SEEN
