#!/usr/bin/env bash
# Package: os-ken 4.2.2 (Python 3.11), seen on 2026-12-01.
# Guess: a DATA chunk whose length is no multiple of 4 is followed by padding that is not in its
#   length (RFC 9260, 3.2), and the chunk behind it is read; what is written has this padding. A
#   chunk or a parameter of INIT that is not known is passed over after the first two bits of its
#   type (3.2 and 3.2.1).
# Seen: the padding is taken for the next chunk. Of DATA with 3 octets and DATA with 4, `parser`
#   raises struct.error and Packet gives the octets alone; written, the padding is missing, so
#   scapy finds one chunk. An INIT whose Supported Extensions need padding is not read. A chunk
#   that is not known, PAD or RE-CONFIG, ends the reading without an error: DATA behind it is lost.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile os-ken==4.2.2 scapy==2.8.0
cat >run.py <<'PY'
import struct

from os_ken.lib.packet import packet, sctp
from scapy.layers.sctp import SCTP, SCTPChunkData


def chunk(kind, flags, body):
    octets = struct.pack("!BBH", kind, flags, 4 + len(body)) + body
    return octets + bytes(-len(octets) % 4)


def data(number, text):
    return chunk(0, 3, struct.pack("!IHHI", number, 1, 0, 60) + text)


def read(name, chunks):
    body = struct.pack("!HHII", 38412, 38412, 7, 0) + chunks
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0, 64, 132, 0,
                     bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
    seen = packet.Packet(bytes.fromhex("0200000000020200000000010800") + ip + body).protocols[2:]
    print(f"{name}:", "; ".join(
        f"{len(one)} octets" if isinstance(one, bytes) else
        "chunks " + str([type(part).__name__ for part in one.chunks]) for one in seen))


read("DATA of 4 and DATA of 4", data(1, b"abcd") + data(2, b"efgh"))
read("DATA of 3 and DATA of 4", data(1, b"abc") + data(2, b"efgh"))
first = struct.pack("!IIHHI", 1, 65536, 10, 10, 1)
read("INIT", chunk(1, 0, first))
extensions = struct.pack("!HHBBB", 0x8008, 7, 192, 130, 64)
read("INIT with three extensions", chunk(1, 0, first)[:2] + struct.pack("!H", 27) +
     first + extensions + b"\0")
read("PAD and DATA", chunk(0x84, 0, bytes(4)) + data(2, b"efgh"))
reset = struct.pack("!HHIIIH2x", 13, 18, 1, 2, 3, 4)
read("RE-CONFIG and DATA", chunk(130, 0, reset) + data(2, b"efgh"))
try:
    sctp.sctp.parser(struct.pack("!HHII", 38412, 38412, 7, 0) + data(1, b"abc") + data(2, b"efgh"))
except struct.error as error:
    print("parser: struct.error")
two = [sctp.chunk_data(begin=1, end=1, tsn=number, sid=1, payload_id=60, payload_data=text)
       for number, text in ((1, b"abc"), (2, b"efgh"))]
octets = bytes(sctp.sctp(38412, 38412, 7, 0, two).serialize(None, None))
print("written:", octets[12:].hex())
found, layer = [], SCTP(octets).payload
while layer and isinstance(layer, SCTPChunkData):
    found.append(layer.tsn)
    layer = layer.payload
print("TSNs that scapy finds:", found)
PY
seen=$(venv/bin/python run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
DATA of 4 and DATA of 4: chunks ['chunk_data', 'chunk_data']
DATA of 3 and DATA of 4: 52 octets
INIT: chunks ['chunk_init']
INIT with three extensions: 40 octets
PAD and DATA: chunks []; 28 octets
RE-CONFIG and DATA: chunks []; 44 octets
parser: struct.error
written: 0003001300000001000100000000003c6162630003001400000002000100000000003c65666768
TSNs that scapy finds: [1]
SEEN
