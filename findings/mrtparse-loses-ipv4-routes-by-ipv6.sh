#!/usr/bin/env bash
# Package: mrtparse 2.2.0 (Python 3.11), seen on 2026-12-01.
# Guess: an IPv4 route whose next hop is one of IPv6 (RFC 8950), as route collectors have it from a
#   fabric without IPv4 addresses, is read with this next hop, or the attribute is left as octets.
#   Extended communities are named as communities are.
# Seen: the next hop is read with 4 octets, and the message has no BGP part at all: no routes, no
#   other attributes, only an error of a prefix. Extended communities are one decimal number, and
#   of an EVPN route neither next hop nor route is there, without an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile mrtparse==2.2.0
cat >run.py <<'PY'
import json
import struct
from ipaddress import ip_address

import mrtparse


def reach(afi, safi, hop, route):
    body = struct.pack("!HBB", afi, safi, len(hop)) + hop + b"\0" + route
    return struct.pack("!BBB", 0x80, 14, len(body)) + body


def read(name, attributes):
    update = struct.pack("!HH", 0, len(attributes)) + attributes
    body = struct.pack("!IIHH", 65000, 65001, 0, 1) + bytes([192, 0, 2, 1, 192, 0, 2, 2])
    body += b"\xff" * 16 + struct.pack("!HB", 19 + len(update), 2) + update
    with open("file.mrt", "wb") as file:
        file.write(struct.pack("!IHHI", 1796083200, 16, 4, len(body)) + body)
    for entry in mrtparse.Reader("file.mrt"):
        seen = entry.data.get("bgp_message", {}).get("path_attributes")
        values = seen and [one["value"] for one in seen]
        print(f"{name}:", values and [
            {key: value[key] for key in ("next_hop", "nlri") if key in value}
            if isinstance(value, dict) else value for value in json.loads(json.dumps(values))],
            entry.err_msg or "")


six = ip_address("2001:db8::1").packed
read("IPv6 by IPv6", reach(2, 1, six, bytes([32]) + six[:4]))
read("IPv4 by IPv6", bytes([0x40, 1, 1, 0]) + reach(1, 1, six, bytes([24, 198, 51, 100])))
read("community", bytes([0xc0, 8, 4]) + struct.pack("!HH", 65000, 100))
read("route target 65000:100", bytes([0xc0, 16, 8]) + bytes.fromhex("0002fde800000064"))
route = struct.pack("!HHIIB", 0, 65000, 1, 0, 32) + bytes([192, 0, 2, 1])
read("EVPN", reach(25, 70, bytes([192, 0, 2, 1]), bytes([3, len(route)]) + route))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
IPv6 by IPv6: [{'next_hop': ['2001:db8::1'], 'nlri': [{'length': 32, 'prefix': '2001:db8::'}]}] 
IPv4 by IPv6: None Invalid prefix length 51 (IPv4)
community: [['65000:100']] 
route target 65000:100: [[842122827661412]] 
EVPN: [{}] 
SEEN
