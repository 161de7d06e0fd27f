#!/usr/bin/env bash
# Package: scapy 2.8.0 (Python 3.11), seen on 2026-11-30.
# Guess: scapy splits an SCTP packet into its chunks. Each is padded to four octets (RFC 9260, 3.2);
#   a chunk that scapy has no class for is kept with its octets, and the next is read, since all
#   chunks begin with type and length.
# Seen: the padding of a HEARTBEAT is not skipped: with 13 octets of information, the DATA behind it
#   becomes a DATA of length 0 and octets without meaning. With 12 octets all is well, as it is for
#   the padding of other chunks. A PAD chunk (RFC 4820) leaves its octets behind in the same way. An
#   ECNE chunk (type 12) has no class: it and all chunks behind it are one Raw. The message of the
#   DATA is found nowhere. tshark 4.0.17 reads all chunks.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
cat >run.py <<'PY'
import struct
from scapy.layers.sctp import SCTP

def chunk(kind, flags, value):
    return struct.pack("!BBH", kind, flags, 4 + len(value)) + value + bytes(-len(value) % 4)

data = chunk(0, 3, struct.pack("!IHHI", 1, 0, 0, 60) + b"NG setup")

def information(length):
    return chunk(4, 0, struct.pack("!HH", 1, 4 + length) + bytes(length))

for name, first in [
    ("HEARTBEAT, 12 octets", information(12)), ("HEARTBEAT, 13 octets", information(13)),
    ("COOKIE ECHO, 61 octets", chunk(10, 0, bytes(61))),
    ("ECNE", chunk(12, 0, struct.pack("!I", 5))), ("PAD", chunk(132, 0, bytes(8))),
]:
    layer, seen = SCTP(struct.pack("!HHII", 38412, 38412, 7, 0) + first + data).payload, []
    while layer:
        seen.append((layer.name, len(layer.load) if layer.name == "Raw" else layer.len))
        layer = layer.payload
    print(name + ":", seen)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
HEARTBEAT, 12 octets: [('SCTPChunkHeartbeatReq', 20), ('SCTPChunkData', 24)]
HEARTBEAT, 13 octets: [('SCTPChunkHeartbeatReq', 21), ('SCTPChunkData', 0), ('Raw', 11)]
COOKIE ECHO, 61 octets: [('SCTPChunkCookieEcho', 65), ('SCTPChunkData', 24)]
ECNE: [('Raw', 32)]
PAD: [('SCTPChunkPad', 12), ('SCTPChunkData', 0), ('Raw', 12)]
SEEN
