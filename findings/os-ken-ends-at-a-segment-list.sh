#!/usr/bin/env bash
# Package: os-ken 4.2.2 (Python 3.11), seen on 2026-12-01.
# Guess: a packet with a Segment Routing Header (RFC 8754), as SRv6 has it between user planes, or
#   with the routing header of a mobile node (RFC 6275, 6.4) is read: a routing header of a type
#   that is not known has a length of its own (RFC 8200, 4.4), so the datagram behind it is found,
#   as behind the header of RPL.
# Seen: routing headers other than those of type 3 end Packet in TypeError, which is none of the
#   errors of parsers that it takes for octets alone: no layer is there, Ethernet neither.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile os-ken==4.2.2 scapy==2.8.0
cat >run.py <<'PY'
from ipaddress import ip_address

from os_ken.lib.packet import packet
from scapy.layers.inet6 import UDP
from scapy.layers.l2 import Ether

address = ip_address("2001:db8::1").packed
for name, kind, left in (("RPL, type 3", 3, 0), ("Segment Routing, type 4", 4, 0),
                         ("mobile node, type 2", 2, 1)):
    header = bytes([17, 2, kind, left, 0, 0, 0, 0]) + address
    octets = (bytes.fromhex("02000000000202000000000186dd60000000") +
              (len(header) + 8).to_bytes(2, "big") + bytes([43, 64]) + address * 2 + header +
              bytes.fromhex("0868086800080000"))
    try:
        seen = [type(one).__name__ for one in packet.Packet(octets).protocols]
    except TypeError as error:
        seen = f"TypeError: {error}"
    print(f"{name}: {seen}; scapy finds UDP: {UDP in Ether(octets)}")
PY
seen=$(venv/bin/python run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
RPL, type 3: ['ethernet', 'ipv6', 'udp']; scapy finds UDP: True
Segment Routing, type 4: TypeError: object of type 'NoneType' has no len(); scapy finds UDP: True
mobile node, type 2: TypeError: object of type 'NoneType' has no len(); scapy finds UDP: True
SEEN
