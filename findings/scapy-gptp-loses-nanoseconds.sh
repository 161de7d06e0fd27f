#!/usr/bin/env bash
# Package: scapy-gptp 0.3.0 with scapy 2.8.0 (Python 3.11), seen on 2026-11-30.
# Guess: the timestamps of IEEE 802.1AS messages, made for clocks that agree to nanoseconds, are
#   read to the nanosecond; a clock identity is shown with its eight octets, and the port as a
#   number without a sign.
# Seen: a timestamp is a Python float, which for this year has steps of 238 ns. Messages that are
#   sent 150 and 200 ns after a second have one time, and one of 150 ns that is read and set again
#   says 238 ns. Of a clock identity the fourth and fifth octet are left out, since they are taken
#   for FF FE, so two clocks with other octets there are one. Port 65535, which means all ports, is
#   -1, and a correction of -1 ns is near 2^64.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0 scapy-gptp==0.3.0
cat >run.py <<'PY'
import struct
from gptp.layers import PTPv2

def follow_up(nanoseconds, clock="0011223344556677", port=1, correction=0):
    return (struct.pack("!BBHBBHqI8sHHBb", 0x18, 2, 76, 0, 0, 8, correction, 0,
                        bytes.fromhex(clock), port, 7, 2, -3)
            + struct.pack("!HII", 0, 1796000000, nanoseconds)
            + struct.pack("!HH6s", 3, 28, bytes.fromhex("0080c2000001")) + bytes(22))

times = [PTPv2(follow_up(n)).preciseOriginTimestamp for n in (100, 150, 200, 400)]
print("100 and 150 ns:", times[0] == times[1], "150 and 200 ns:", times[1] == times[2],
      "200 and 400 ns:", times[2] == times[3])
message = PTPv2(follow_up(150))
message.preciseOriginTimestamp = message.preciseOriginTimestamp
print("150 ns, set again:", int.from_bytes(bytes(message)[40:44], "big"))
for clock in ("001122fffe556677", "0011223344556677"):
    print(clock, "is", PTPv2(follow_up(0, clock)).sourcePortIdentity)
print("port 65535:", PTPv2(follow_up(0, port=65535)).sourcePortIdentity)
print("correction -1 ns:", PTPv2(follow_up(0, correction=-65536)).correctionField)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
100 and 150 ns: False 150 and 200 ns: True 200 and 400 ns: False
150 ns, set again: 238
001122fffe556677 is 00:11:22:55:66:77/1
0011223344556677 is 00:11:22:55:66:77/1
port 65535: 00:11:22:55:66:77/-1
correction -1 ns: 18446744073709486080
SEEN
