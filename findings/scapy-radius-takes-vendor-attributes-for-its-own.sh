#!/usr/bin/env bash
# Package: scapy 2.8.0, layers.radius and layers.eap (Python 3.11), seen on 2026-11-30.
# Guess: a Vendor-Specific attribute with two attributes of 3GPP (TS 29.061, 16.4.7: several may stand
#   in one) is read as one attribute of vendor 10415 with both, and the attributes behind it as they
#   are; a Legacy Nak has the methods that its length has.
# Seen: the first one is in the vendor's attribute, the next ones are attributes of RADIUS itself: 3GPP's
#   IMSI becomes a User-Name, its charging characteristics become Framed-Compression. A Tunnel-Preference
#   of 5 with tag 1 is 16777221, and a Nak of one method that stands in a short Ethernet frame has
#   method 0 as well, from the padding.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
cat >run.py <<'PY'
import struct
from scapy.layers.eap import EAP
from scapy.layers.radius import Radius

def attribute(kind, value):
    return bytes([kind, len(value) + 2]) + value

def show(title, octets):
    packet = Radius(struct.pack("!BBH", 4, 1, 20 + len(octets)) + bytes(16) + octets)
    print(title)
    for read in packet.attributes:
        vendor = f" of {read.vendor_id}, type {read.vendor_type}" if read.type == 26 else ""
        print(f"   {read.sprintf('%type%')}{vendor}: {read.value}")

charging = attribute(13, b"0800")
imsi = attribute(1, b"001010000000001")
vendor = struct.pack("!I", 10415)
show("IMSI and charging in two", attribute(26, vendor + imsi) + attribute(26, vendor + charging))
show("IMSI and charging in one", attribute(26, vendor + imsi + charging))
show("charging and IMSI in one", attribute(26, vendor + charging + imsi))
show("Tunnel-Preference", attribute(83, bytes([1, 0, 0, 5])))
print("Nak:", EAP(bytes([2, 1, 0, 6, 3, 50])).desired_auth_types)
print("Nak in front of padding:", EAP(bytes([2, 1, 0, 6, 3, 50]) + bytes(36)).desired_auth_types)
PY
seen=$(venv/bin/python run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
IMSI and charging in two
   Vendor-Specific of 10415, type 1: b'001010000000001'
   Vendor-Specific of 10415, type 13: b'0800'
IMSI and charging in one
   Vendor-Specific of 10415, type 1: b'001010000000001'
   Framed-Compression: b'0800'
charging and IMSI in one
   Vendor-Specific of 10415, type 13: b'0800'
   User-Name: b'001010000000001'
Tunnel-Preference
   Tunnel-Preference: 16777221
Nak: [50]
Nak in front of padding: [50, 0]
SEEN
