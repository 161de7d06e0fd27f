#!/usr/bin/env bash
# Package: scapy 2.8.0, contrib.diameter (Python 3.11), seen on 2026-11-30.
# Guess: an AVP of type Time, such as Event-Timestamp, counts seconds from 1900, as NTP does (RFC
#   6733, 4.3.1), and scapy shows its date; from 2036 the count starts again.
# Seen: the seconds are counted from 1970. An event of 30 November 2026 is dated 29 November 2096,
#   and one of 2036, after the count has started again, is dated 1970. A program that compares the
#   value with the time of the capture, which has the same type in scapy, is 70 years off. Numbers
#   with a sign, 64-bit counters and addresses of both kinds are read right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
cat >run.py <<'PY'
import calendar
import struct
from scapy.contrib.diameter import DiamG

def read(code, value):
    body = struct.pack("!II", code, 0x40 << 24 | 8 + len(value)) + value
    body += bytes(-len(value) % 4)
    octets = struct.pack("!5I", 1 << 24 | 20 + len(body), 0x40 << 24 | 272, 4, 1, 2) + body
    return DiamG(octets).avpList[0].sprintf("%name% %val%")

for date in [(2026, 11, 30), (2036, 2, 8)]:
    since_1900 = calendar.timegm((*date, 0, 0, 0)) - calendar.timegm((1900, 1, 1, 0, 0, 0))
    print(*date, read(55, struct.pack("!I", since_1900 & 0xFFFFFFFF)))
print(read(429, struct.pack("!i", -2)))
print(read(421, struct.pack("!Q", 2**63)))
PY
seen=$(TZ=UTC venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
2026 11 30 AVP Event-Timestamp Thu Nov 29 00:00:00 2096
2036 2 8 AVP Event-Timestamp Thu Jan  1 17:31:44 1970
AVP Exponent -2
AVP CC-Total-Octets 9223372036854775808
SEEN
