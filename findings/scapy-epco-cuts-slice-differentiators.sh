#!/usr/bin/env bash
# Package: scapy 2.8.0, contrib.gtp_v2 (Python 3.11), seen on 2026-11-30.
# Guess: the S-NSSAI that a core sends to a UE in the extended protocol configuration options
#   (TS 24.008, 10.5.6.3, container 001B) is read as slice type and, if present, a differentiator of
#   three octets (TS 24.501, 9.11.2.8), with the PLMN behind it.
# Seen: a differentiator has two octets. Slice 1 with SD 0000A1 is read as SD 0 and a mapped slice
#   type 161. The PLMN loses its last octet, which starts a container of its own, so the PDU session
#   ID behind it is not found. Without a differentiator, the PLMN 001-01 is read as SD 241 and a
#   mapped slice type 16. tshark 4.0.17 reads SD 161, the PLMN and the PDU session ID.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
cat >run.py <<'PY'
import struct
from scapy.contrib.gtp_v2 import IE_EPCO

def options(*containers):
    value = b"\x80" + b"".join(containers)
    return IE_EPCO(struct.pack("!BHB", 197, len(value), 0) + value)

def container(kind, value):
    return struct.pack("!HB", kind, len(value)) + value

session = container(0x1A, b"\x05")
for name, slice in [("SD 0000A1", b"\x01\x00\x00\xa1"), ("no SD", b"\x01")]:
    read = options(container(0x1B, slice + b"\x00\xf1\x10"), session)
    for part in read.Protocols:
        values = {k: v for k, v in part.fields.items() if k not in ("type", "length")}
        print(f"SST 1, {name}, PLMN 001-01: {part.name} {values}")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
SST 1, SD 0000A1, PLMN 001-01: PCO S-NSSAI {'SST': 1, 'SD': 0, 'Hplmn_Sst': 161, 'Hplmn_Sd': 241}
SST 1, SD 0000A1, PLMN 001-01: Raw {'load': b'\x10\x00\x1a\x01\x05'}
SST 1, no SD, PLMN 001-01: PCO S-NSSAI {'SST': 1, 'SD': 241, 'Hplmn_Sst': 16}
SST 1, no SD, PLMN 001-01: PCO PDU session ID {'PduSessionId': 5}
SEEN
