#!/usr/bin/env bash
# Package: scapy 2.8.0 (Python 3.11), seen on 2026-11-29.
# Guess: scapy reads a GTP-U extension header as 3GPP TS 29.281, 5.2.1, lays it out: the length
#   counts units of four octets, padding ends the content, and the last octet is the type of the
#   next header.
# Seen: a PDU Session Container that needs no padding is read so. With a QFI sequence number it
#   needs an octet of padding: scapy takes that for the type of the next header, shows the type as
#   padding, and reads the PDCP number behind it as PPP. tshark 4.0.17 finds the PDCP number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
cat >run.py <<'PY'
import struct
from scapy.contrib.gtp import GTP_U_Header

INNER = bytes.fromhex("450000140000000040fd0000c0000201c0000202")
PDCP = bytes.fromhex("01002a00")  # one unit: PDCP PDU number 42, no further header

def read(name, container):
    assert len(container) == 4 * container[0] and container[-1] == 0xc0
    body = bytes(3) + b"\x85" + container + PDCP + INNER
    packet = GTP_U_Header(struct.pack("!BBHI", 0x34, 0xff, len(body), 1) + body)
    session = packet.payload
    print(f"{name}: next {session.NextExtHdr:#x}, padding {session.padding}")
    print(" ", *(layer.__name__ for layer in packet.layers()))

read("no padding", bytes([1, 0x00, 0x09, 0xc0]))
read("one octet", bytes([2, 0x04, 0x09, 0, 0, 7, 0, 0xc0]))
PY
seen=$(venv/bin/python run.py 2>run.err) || { cat run.err >&2; exit 1; }
echo "$seen"
[ "$seen" = "no padding: next 0xc0, padding None
  GTP_U_Header GTPPDUSessionContainer Raw
one octet: next 0x0, padding b'\xc0'
  GTP_U_Header GTPPDUSessionContainer PPP Raw" ] || { echo "changed" >&2; exit 1; }
