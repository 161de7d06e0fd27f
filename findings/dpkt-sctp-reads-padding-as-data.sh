#!/usr/bin/env bash
# Package: dpkt 1.9.8 (Python 3.11), seen on 2026-11-30.
# Guess: dpkt splits an SCTP packet into its chunks. Each chunk is padded to four octets (RFC 9260,
#   3.2), and dpkt skips the padding of a DATA chunk.
# Seen: it skips that of DATA alone. A COOKIE ECHO of 61 octets, a HEARTBEAT with 13 octets of
#   information and an I-DATA chunk (RFC 8260) leave their padding in the way. The DATA chunk behind
#   the first two becomes a chunk of type 0 and length 0, which is DATA as well, so the types look
#   right. The first NGAP message of an association can travel behind the COOKIE ECHO. tshark 4.0.17
#   reads all chunks.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile dpkt==1.9.8
cat >run.py <<'PY'
import struct
import dpkt

def chunk(kind, flags, value):
    return struct.pack("!BBH", kind, flags, 4 + len(value)) + value + bytes(-len(value) % 4)

def data(message):
    return chunk(0, 3, struct.pack("!IHHI", 1, 0, 0, 60) + message)

def ordered(tsn, message):
    return chunk(64, 3, struct.pack("!IHHII", tsn, 0, 0, tsn, 60) + message)

for name, chunks in [
    ("DATA, DATA", data(b"first") + data(b"NG setup")),
    ("COOKIE ECHO, DATA", chunk(10, 0, bytes(61)) + data(b"NG setup")),
    ("HEARTBEAT, DATA", chunk(4, 0, struct.pack("!HH", 1, 17) + bytes(13)) + data(b"NG setup")),
    ("I-DATA, I-DATA", ordered(1, b"first") + ordered(2, b"NG setup")),
]:
    packet = struct.pack("!HHII", 38412, 38412, 7, 0) + chunks
    print(name + ":", [(one.type, one.len) for one in dpkt.sctp.SCTP(packet).chunks])
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
DATA, DATA: [(0, 21), (0, 24)]
COOKIE ECHO, DATA: [(10, 65), (0, 0)]
HEARTBEAT, DATA: [(4, 21), (0, 0)]
I-DATA, I-DATA: [(64, 25), (0, 64)]
SEEN
