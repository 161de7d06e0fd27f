#!/usr/bin/env bash
# Package: pysim-perso 0.0.4 (Python 3.11), seen on 2026-11-30.
# Guess: an ICCID of 20 digits, or of 19 with its check digit (ITU-T E.118), as it is printed on the
#   card, is written to EF.ICCID and read as it is. EF.IMSI is read whether its digits are written
#   in upper or lower case; the package writes EF.ICCID in upper case.
# Seen: the check digit gets another check digit behind it, and EF.ICCID has 20 digits instead of
#   19. Of 20 digits the last is gone after writing and reading; of a card's 19 the check digit. An
#   IMSI of 14 digits, whose file has the filler F, is None in upper case and read in lower case.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pysim-perso==0.0.4
cat >run.py <<'PY'
from pysim_perso.algorithm.encode import EncodingUtils

for iccid in ("8988211000000123458", "89882110000001234567"):
    written = EncodingUtils.enc_iccid(iccid)
    print(f"{iccid}: EF.ICCID {written}, read as {EncodingUtils.dec_iccid(written)}")
card = "988812010000103254F8"
print(f"EF.ICCID {card} is", EncodingUtils.dec_iccid(card))
for imsi in ("001010123456789", "00101012345678"):
    written = EncodingUtils.enc_imsi(imsi)
    for text in (written, written.upper()):
        print(f"EF.IMSI {text} is", EncodingUtils.dec_imsi(text))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
8988211000000123458: EF.ICCID 98881201000010325448, read as 8988211000000123458
89882110000001234567: EF.ICCID 98881201000010325476, read as 8988211000000123456
EF.ICCID 988812010000103254F8 is 898821100000012345
EF.IMSI 080910101032547698 is 001010123456789
EF.IMSI 080910101032547698 is 001010123456789
EF.IMSI 0801101010325476f8 is 00101012345678
EF.IMSI 0801101010325476F8 is None
SEEN
