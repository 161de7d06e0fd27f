#!/usr/bin/env bash
# Package: os-ken 4.2.2 (Python 3.11), seen on 2026-12-01.
# Guess: the next hop of MP_REACH_NLRI has the length that is written in front of it. IPv4 routes
#   may have one of IPv6 with 16 octets (RFC 8950, 3), as of a fabric without IPv4 addresses.
# Seen: for IPv4 routes the first 4 octets are the next hop: 2001:db8::1 is 32.1.13.184, without an
#   error. An attribute that is built from what was read sends the routes there. The routes of
#   IPv6 keep their next hop. The capability for such next hops, 5, is octets alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile os-ken==4.2.2
cat >run.py <<'PY'
import struct
from ipaddress import ip_address

from os_ken.lib.packet import bgp


def read(afi, safi, hop, route):
    body = struct.pack("!HBB", afi, safi, len(hop)) + hop + b"\0" + route
    attribute = struct.pack("!BBB", 0x80, 14, len(body)) + body
    update = struct.pack("!HH", 0, len(attribute)) + attribute
    octets = b"\xff" * 16 + struct.pack("!HB", 19 + len(update), 2) + update
    return bgp.BGPMessage.parser(octets)[0].path_attributes[0]


six = ip_address("2001:db8::1").packed
seen = read(1, 1, six, bytes([24, 198, 51, 100]))
print("198.51.100.0/24 by 2001:db8::1:", seen.next_hop)
again = bgp.BGPPathAttributeMpReachNLRI(1, 1, seen.next_hop, seen.nlri)
print("built from this:", bytes(again.serialize()).hex())
print("2001:db8::/32 by 2001:db8::1:", read(2, 1, six, bytes([32]) + six[:4]).next_hop)
capability = bytes([2, 8, 5, 6, 0, 1, 0, 1, 0, 2])
body = struct.pack("!BHHIB", 4, 65000, 90, 1, len(capability)) + capability
octets = b"\xff" * 16 + struct.pack("!HB", 19 + len(body), 1) + body
print("capability 5:", type(bgp.BGPMessage.parser(octets)[0].opt_param[0]).__name__)
PY
seen=$(venv/bin/python run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
198.51.100.0/24 by 2001:db8::1: 32.1.13.184
built from this: 800e0d0001010420010db80018c63364
2001:db8::/32 by 2001:db8::1: 2001:db8::1
capability 5: BGPOptParamCapabilityUnknown
SEEN
