#!/usr/bin/env bash
# Package: smpplib 2.2.4 (Python 3.11), seen on 2026-11-30.
# Guess: the default alphabet of a short message (TS 23.038, 6.2.1) has the section sign at 5F and
#   the page break at 1B0A, and no grave accent. A text with a grave accent goes out in UCS-2, as
#   each text outside of the alphabet does. A character of two septets stays in one part of a long
#   message (TS 23.040, 9.2.3.24.1).
# Seen: a grave accent is written as 5F: the phone shows `ls` between two section signs. A section
#   sign and a page break are taken for foreign, and the whole message goes out in UCS-2, with room
#   for 70 characters instead of 160. A euro sign at the end of a part is cut: one part ends with an
#   escape, the next begins with the letter e.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile smpplib==2.2.4
cat >run.py <<'PY'
from smpplib.gsm import make_parts

for text in ["`ls`", "§5", "a\fb", "a{b}"]:
    parts, coding, _ = make_parts(text)
    print(f"{text!r}: coding {coding}, {parts[0].hex()}")
for count in [151, 152]:
    parts, coding, _ = make_parts("x" * count + "€" + "y" * 20)
    print(f"{count} letters and a euro sign: coding {coding},",
          "one part ends with", parts[0][-2:].hex(), "the next begins with", parts[1][6:8].hex())
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
'`ls`': coding 0, 5f6c735f
'§5': coding 8, 00a70035
'a\x0cb': coding 8, 0061000c0062
'a{b}': coding 0, 611b28621b29
151 letters and a euro sign: coding 0, one part ends with 1b65 the next begins with 7979
152 letters and a euro sign: coding 0, one part ends with 781b the next begins with 6579
SEEN
