#!/usr/bin/env bash
# Package: ipfix 0.9.7 (Python 3.11), seen on 2026-11-30.
# Guess: flowStartMicroseconds and flowStartNanoseconds are in the format of NTP, in seconds since
#   1900 (RFC 7011, 6.1.9 and 6.1.10); the package says that it is "fully in NTP format". One moment
#   is the same in seconds, milliseconds and microseconds.
# Seen: both are counted from 1970. What another exporter sends for 30 November 2026 is read as 29
#   November 2096, so a flow has ended 70 years after its seconds say; what the package writes is a
#   time of 2026 minus 70 years, 1956, for other collectors.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile ipfix==0.9.7
cat >run.py <<'PY'
import struct
from datetime import datetime, timezone
from ipfix import types

moment = datetime(2026, 11, 30, 10)
unix = int(moment.replace(tzinfo=timezone.utc).timestamp())
ntp = unix + 2208988800
for name, octets in (("dateTimeSeconds", struct.pack("!L", unix)),
                     ("dateTimeMilliseconds", struct.pack("!Q", unix * 1000)),
                     ("dateTimeMicroseconds", struct.pack("!LL", ntp, 0)),
                     ("dateTimeNanoseconds", struct.pack("!LL", ntp, 0))):
    kind = types.for_name(name)
    read = kind.decode_single_value_from(memoryview(octets), 0, len(octets))
    buffer = memoryview(bytearray(8))
    kind.encode_single_value_to(moment, buffer, 0)
    print(f"{name}: {octets.hex()} is {read}, {moment} is {bytes(buffer[:len(octets)]).hex()}")
PY
seen=$(venv/bin/python -W ignore run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
dateTimeSeconds: 6b0d4920 is 2026-11-30 10:00:00, 2026-11-30 10:00:00 is 6b0d4920
dateTimeMilliseconds: 000001a22be5a500 is 2026-11-30 10:00:00, 2026-11-30 10:00:00 is 000001a22be5a500
dateTimeMicroseconds: eeb7c7a000000000 is 2096-11-29 10:00:00, 2026-11-30 10:00:00 is 6b0d492000000000
dateTimeNanoseconds: eeb7c7a000000000 is 2096-11-29 10:00:00, 2026-11-30 10:00:00 is 6b0d492000000000
SEEN
