#!/usr/bin/env bash
# Package: scapy 2.8.0, contrib.macsec (Python 3.11), seen on 2026-11-29.
# Guess: a short MACsec frame, padded by the sender's port to Ethernet's 60 octets, is decrypted.
#   Its Short Length (SL, IEEE 802.1AE, 9.7) gives the octets between SecTAG and ICV, and scapy both
#   writes that field and dissects it.
# Seen: SL is ignored on receipt. The last 16 octets of the frame, padding, are taken for the ICV:
#   InvalidTag with encryption and with integrity alone. The same frame without padding is accepted.
#   Short eCPRI messages, such as a remote reset, need that padding on a fronthaul link.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet scapy==2.8.0 cryptography==50.0.2
cat >"$folder/run.py" <<'PY'
from cryptography.exceptions import InvalidTag
from scapy.contrib.macsec import MACsec, MACsecSA
from scapy.layers.l2 import Ether

# eCPRI remote reset (message type 6): common header, reset id, reset code.
RESET = bytes.fromhex("10060003" "000101")
PLAIN = bytes(Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02", type=0xAEFE) / RESET)
SCI = bytes.fromhex("0200000000020001")

def read(association, frame):
    try:
        plain = association.decap(association.decrypt(Ether(frame)))
    except InvalidTag:
        return "InvalidTag"
    return "accepted" if bytes(plain) == PLAIN else bytes(plain).hex()

for name, encrypt in ("encrypted", True), ("integrity alone", False):
    association = MACsecSA(
        sci=SCI, an=0, pn=1, key=bytes(16), icvlen=16, encrypt=encrypt, send_sci=False)
    frame = bytes(association.encrypt(association.encap(Ether(PLAIN))))
    print(f"{name}: SL {Ether(frame)[MACsec].SL}, {len(frame)} octets:", read(association, frame))
    padded = frame.ljust(60, bytes(1))
    print(f"{name}: padded to {len(padded)}:", read(association, padded))
PY
seen=$("$folder/venv/bin/python" -W ignore "$folder/run.py")
echo "$seen"
[ "$seen" = "encrypted: SL 9, 45 octets: accepted
encrypted: padded to 60: InvalidTag
integrity alone: SL 9, 45 octets: accepted
integrity alone: padded to 60: InvalidTag" ] || { echo "changed" >&2; exit 1; }
