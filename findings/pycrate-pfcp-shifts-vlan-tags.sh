#!/usr/bin/env bash
# Package: pycrate 0.8.1, pycrate_mobile.TS29244_PFCP (Python 3.11), seen on 2026-11-30.
# Guess: the C-TAG of an Ethernet packet filter in PFCP is 3 octets, with 3 bits of priority
#   (TS 29.244, 8.2.94); a Source IP Address has a prefix length only if its flag says so (8.2.128),
#   and a Dropped DL Traffic Threshold may have packets alone (8.2.49).
# Seen: the priority has one bit, so the tag has 22 bits: VLAN 100 with priority 5 is read as VLAN 89,
#   and written to other octets. A source address without prefix length and a threshold of packets
#   alone are not read: their data are raw octets. Written, such an address has an octet too many.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pycrate==0.8.1
cat >run.py <<'PY'
import struct
from pycrate_mobile.TS29244_PFCP import CTAG, PFCPIE, SourceIPAddress

def read(title, kind, text):
    value = bytes.fromhex(text)
    octets = struct.pack("!HH", kind, len(value)) + value
    element = PFCPIE()
    element.from_bytes(octets)
    data = element["Data"]
    print(title, "is a", type(data).__name__)
    if isinstance(data, CTAG):
        fields = data.get_val_d()
        print("  VLAN", fields["CVID_MSB"] << 8 | fields["CVID_LSB"], "priority",
              fields["PCPValue"], "bits:", CTAG().get_bl())
    print("  written as it was read:", element.to_bytes() == octets)

read("C-TAG of VLAN 100, priority 5", 134, "05 05 64")
read("source address with prefix length", 192, "06 c0000201 18")
read("source address without one", 192, "02 c0000201")
read("threshold of packets and octets", 72, "03 0000000000000064 0000000000001000")
read("threshold of packets", 72, "01 0000000000000064")
source = SourceIPAddress(val={"V4": 1, "IPv4Addr": bytes([192, 0, 2, 1])})
print("source address, written:", source.to_bytes().hex())
PY
seen=$(venv/bin/python run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
C-TAG of VLAN 100, priority 5 is a CTAG
  VLAN 89 priority 1 bits: 22
  written as it was read: False
source address with prefix length is a SourceIPAddress
  written as it was read: True
source address without one is a Buf
  written as it was read: True
threshold of packets and octets is a DroppedDLTrafficThreshold
  written as it was read: True
threshold of packets is a Buf
  written as it was read: True
source address, written: 02c000020100
SEEN
