#!/usr/bin/env bash
# Package: pycrate 0.8.1, pycrate_mobile.TS24501_IE (Python 3.11), seen on 2026-11-30.
# Guess: a SUCI of NAS can be turned into the text of the SBI and back (TS 23.003, 2.2B, and the Suci
#   of TS 29.571: suci-0-001-01-...), and into an NAI whose realm has three digits for the MNC
#   (TS 23.003, 28.2).
# Seen: the text has no "suci-" in front, and each text is refused, its own too: "Invalid ... format
#   value: 0". The NAI of the network 001-01 ends in mnc01.mcc001, where mnc001.mcc001 is the realm;
#   its own NAI is refused where the MSIN is concealed, and one with the routing indicator 0 is read
#   into other octets.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pycrate==0.8.1
cat >run.py <<'PY'
from pycrate_mobile.TS24501_IE import FGSID

def show(title, action):
    try:
        print("  ", title, action())
    except Exception as error:
        print("  ", title, type(error).__name__, str(error).split("(")[0][:75])

for title, text in [
    ("001-01, null scheme", "01 00f110 f0ff 00 00 00000010"),
    ("310-410, null scheme", "01 130014 2143 00 00 00000010"),
    ("001-01, profile A", "01 00f110 f0ff 01 01" + "11" * 32 + "22" * 5 + "33" * 8),
]:
    octets = bytes.fromhex(text)
    identity = FGSID()
    identity.from_bytes(octets)
    suci = identity["Value"].get_alt()
    print(title)
    show("text:", lambda: suci.to_sba()[:30])
    show("read again:", lambda: suci.from_sba(suci.to_sba()))
    show("read with suci-:", lambda: suci.from_sba("suci-" + suci.to_sba()))
    show("realm:", lambda: suci.to_nai().split("@")[1])
    show("NAI read again:", lambda: suci.from_nai(suci.to_nai()) or identity.to_bytes() == octets)
PY
seen=$(venv/bin/python run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
001-01, null scheme
   text: 0-001-01-0-0-0-00000010
   read again: PycrateErr Invalid SUCI-IMSI SBA format value: 0
   read with suci-: PycrateErr Invalid SUCI-IMSI SBA value: suci-0-001-01-0-0-0-00000010
   realm: 5gc.mnc01.mcc001.3gppnetwork.org
   NAI read again: False
310-410, null scheme
   text: 0-310-410-1234-0-0-00000010
   read again: PycrateErr Invalid SUCI-IMSI SBA format value: 0
   read with suci-: PycrateErr Invalid SUCI-IMSI SBA value: suci-0-310-410-1234-0-0-00000010
   realm: 5gc.mnc410.mcc310.3gppnetwork.org
   NAI read again: True
001-01, profile A
   text: 0-001-01-0-1-1-111111111111111
   read again: PycrateErr Invalid SUCI-IMSI SBA format value: 0
   read with suci-: PycrateErr Invalid SUCI-IMSI SBA value: suci-0-001-01-0-1-1-11111111111111111111111111
   realm: 5gc.mnc01.mcc001.3gppnetwork.org
   NAI read again: PycrateErr Invalid SUCI-IMSI NAI value: type0.rid0.schid1.hnkey1.ecckey111111111111111
SEEN
