#!/usr/bin/env bash
# Package: scapy 2.8.0, contrib.gtp_v2 (Python 3.11), seen on 2026-11-30.
# Guess: the MCC and MNC of a GTPv2 message are read as TS 29.274, 8.18 and 8.21, has them: the
#   second octet holds the third digit of the MCC and the third of the MNC, or 15 in its place.
# Seen: MCC is what the first two octets hold, MNC what the third does. The network 310-410 is read
#   as MCC 3100 and MNC 41: its last digit has moved. With an MNC of two digits all is well. MCC 310
#   and MNC 410, built with scapy, are the octets of 310-41. In Serving Network, TAI and ECGI alike;
#   tshark 4.0.17 reads 310-410.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
cat >run.py <<'PY'
import struct
from scapy.contrib.gtp_v2 import GTPHeader, IE_ServingNetwork

def element(kind, value):
    return struct.pack("!BHB", kind, len(value), 0) + value

for name, plmn in [("001-01", "00f110"), ("310-410", "130014")]:
    plmn = bytes.fromhex(plmn)
    location = b"\x18" + plmn + b"\x30\x39" + plmn + b"\x00\x00\x01\x01"
    body = element(83, plmn) + element(86, location)
    octets = struct.pack("!BBHII", 0x48, 32, 8 + len(body), 1, 1 << 8) + body
    network, place = GTPHeader(octets).IE_list
    for part in (network, place.TAI, place.ECGI):
        print(f"{name}, {part.name}: MCC {part.MCC.decode()}, MNC {part.MNC.decode()}")
print("310-410, built:", bytes(IE_ServingNetwork(MCC="310", MNC="410"))[4:].hex())
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
001-01, IE Serving Network: MCC 001, MNC 01
001-01, Tracking Area Identity: MCC 001, MNC 01
001-01, E-UTRAN Cell Global Identifier: MCC 001, MNC 01
310-410, IE Serving Network: MCC 3100, MNC 41
310-410, Tracking Area Identity: MCC 3100, MNC 41
310-410, E-UTRAN Cell Global Identifier: MCC 3100, MNC 41
310-410, built: 13f014
SEEN
