#!/usr/bin/env bash
# Package: scapy 2.8.0, contrib.pfcp (Python 3.11), seen on 2026-11-30.
# Guess: the Network Instance of a PFCP message is an octet string that names an instance. It may be
#   written as a domain name or an APN is (TS 29.244, 8.2.4), so "access" and "n3.upf1" are shown as
#   they stand; a Remote GTP-U Peer has lengths of two octets (8.2.70).
# Seen: each instance is read as labels with lengths: "access" is "ccess", and of "n3.upf1" the
#   "n" is gone. An instance that is built from "access" gets a length in front, and is another
#   instance. Of a Remote GTP-U Peer the length of the interface has one octet: it is 0 where it is
#   1, and the length of the network instance is 256 where it is 8. tshark 4.0.17 reads all of them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
cat >run.py <<'PY'
import struct
from scapy.contrib.pfcp import IE_NetworkInstance, IE_RemoteGTP_U_Peer

def element(kind, value):
    return struct.pack("!HH", kind, len(value)) + value

for name in (b"\x06access", b"access", b"n3.upf1"):
    print(name, "is", IE_NetworkInstance(element(22, name)).instance)
print("access, built:", bytes(IE_NetworkInstance(instance="access"))[4:])
peer = (b"\x0e" + bytes([192, 0, 2, 1]) + struct.pack("!HB", 1, 1)
        + struct.pack("!H", 8) + b"\x07access1")
read = IE_RemoteGTP_U_Peer(element(103, peer))
print("peer:", read.dest_interface_length, read.network_instance_length, read.network_instance)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
b'\x06access' is b'access'
b'access' is b'ccess'
b'n3.upf1' is b'3.upf1'
access, built: b'\x06access'
peer: 0 256 b'\x07access1'
SEEN
