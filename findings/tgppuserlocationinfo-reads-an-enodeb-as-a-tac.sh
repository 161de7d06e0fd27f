#!/usr/bin/env bash
# Package: tgppuserlocationinfo 0.1.2 (Python 3.13), seen on 2026-11-30.
# Guess: 3GPP-User-Location-Info is read as TS 29.061, 16.4.7.2 has it: type 128 is a TAI of 5
#   octets, 129 an ECGI of 7, 132 a TAI and an eNodeB ID, 136 a TAI of 5G with a TAC of 3 octets,
#   137 that TAI and an NCGI.
# Seen: type 132 is taken for the TAI of 5G, so the first octet of the eNodeB's PLMN becomes the
#   last of the TAC: TAC 0x1234 is 1193060 and the eNodeB is lost. A TAI is refused, since 7
#   octets are expected, and an ECGI too, as an SAI. The types of 5G, 135 to 139, are not known.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python=$(PYENV_VERSION=3.13.0 pyenv which python3 2>/dev/null || command -v python3.13)
"$python" -m venv venv
venv/bin/pip install --quiet --no-compile tgppuserlocationinfo==0.1.2 typer==0.29.2
cat >run.py <<'PY'
import contextlib
import io
import json

import typer
from tgppuserlocationinfo import decode

plmn = "64f043"
for name, octets in [
    ("TAI", "80" + plmn + "1234"),
    ("ECGI", "81" + plmn + "00abcdef"),
    ("TAI and ECGI", "82" + plmn + "1234" + plmn + "00abcdef"),
    ("TAI and eNodeB ID", "84" + plmn + "1234" + plmn + "000007"),
    ("TAI of 5G", "88" + plmn + "001234"),
    ("TAI of 5G and NCGI", "89" + plmn + "001234" + plmn + "0000000abc"),
]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(typer.Exit):
        decode(octets)
    read = json.loads(out.getvalue())
    parts = read.get("DecodedComponents", {})
    print(name + ":", read["error"].split(". ")[0] if "error" in read else {
        part: {key: value["Decimal"] for key, value in members.items() if key in ("TAC", "ECI")}
        for part, members in parts.items()})
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
TAI: Expected 7 bytes for type 128, got 6 bytes.
ECGI: Expected 7 bytes for SAI, got 8 bytes.
TAI and ECGI: {'TAI': {'TAC': 4660}, 'ECGI': {'ECI': 11259375}}
TAI and eNodeB ID: {'5G_TAI': {'TAC': 1193060}}
TAI of 5G: Unsupported Geographic Location Type: 136
TAI of 5G and NCGI: Unsupported Geographic Location Type: 137
SEEN
