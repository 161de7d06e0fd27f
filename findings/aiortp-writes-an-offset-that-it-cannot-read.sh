#!/usr/bin/env bash
# Package: aiortp 0.8.0 (Python 3.11), seen on 2026-11-30.
# Guess: what is written can be read. The transmission offset is a signed number of 24 bits
#   (RFC 5450, 4). The two-byte form of header extensions has the profile 100 and four bits for the
#   application, which a receiver that does not know them ignores (RFC 8285, 4.3). A receiver report
#   may end with extensions of a profile (RFC 3550, 6.4.3).
# Seen: of the transmission offset two octets are written, and reading them back is a struct.error.
#   With an application bit set, profile 1001, no extension is read. A report with an extension is
#   refused, "length is invalid".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile aiortp==0.8.0
cat >run.py <<'PY'
import struct

from aiortp.packet import HeaderExtensions, HeaderExtensionsMap, RtcpPacket

extensions = HeaderExtensionsMap()
extensions.configure([(2, "urn:ietf:params:rtp-hdrext:toffset"),
                      (3, "urn:ietf:params:rtp-hdrext:sdes:mid")])
read = extensions.get(0xBEDE, bytes.fromhex("22000064"))
print("transmission offset 100, three octets:", read.transmission_offset)
profile, written = extensions.set(HeaderExtensions(transmission_offset=100))
print(f"written: {profile:04x} {written.hex()}")
try:
    print("read back:", extensions.get(profile, written).transmission_offset)
except struct.error as error:
    print("read back: struct.error,", error)
for profile in [0x1000, 0x1001, 0x100F]:
    read = extensions.get(profile, bytes.fromhex("0302763100000000"))
    print(f"profile {profile:04x}: mid {read.mid}")
report = "0000000a" + "0000000b" + "00" * 20
for name, text in [("report", "81c90007" + report),
                   ("report with extension", "81c90008" + report + "12345678")]:
    try:
        print(f"{name}: {len(RtcpPacket.parse(bytes.fromhex(text))[0].reports)} source")
    except ValueError as error:
        print(f"{name}: {error}")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
transmission offset 100, three octets: 100
written: bede 21000000
read back: struct.error, unpack requires a buffer of 4 bytes
profile 1000: mid v1
profile 1001: mid None
profile 100f: mid None
report: 1 source
report with extension: RTCP receiver report length is invalid
SEEN
