#!/usr/bin/env bash
# Package: pcap-anonymize 0.3.0 with scapy 2.6.1 (Python 3.11), seen on 2026-11-30.
# Guess: the tool replaces hardware addresses and the content of some protocols, as its page lists
#   them, and leaves the rest of the capture as it is: times, lengths on the wire, link type.
# Seen: each packet has the time at which the tool ran, so the gaps between packets are those of
#   the tool: 60 seconds between two messages are milliseconds. A packet that was cut by the
#   snapshot length gets the length of the piece in its IP and UDP headers, and that as its length
#   on the wire: a message of 1000 octets is one of 22.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pcap-anonymize==0.3.0 scapy==2.6.1
cat >run.py <<'PY'
import time

from pcap_anonymize import anonymize_pcap
from scapy.all import IP, UDP, Ether, Raw, rdpcap, wrpcap

def packet(seconds, size):
    made = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(
        src="10.0.0.1", dst="10.0.0.2") / UDP(sport=8805, dport=8805) / Raw(b"a" * size)
    octets = bytes(made)
    made = Ether(octets[:64])
    made.time, made.wirelen = seconds, len(octets)
    return made

wrpcap("in.pcap", [packet(1700000000, 20), packet(1700000060, 1000)])
start = time.time()
anonymize_pcap("in.pcap", "out.pcap")
for name in ("in.pcap", "out.pcap"):
    first, second = rdpcap(name)
    now = all(start - 1 <= float(each.time) <= time.time() + 1 for each in (first, second))
    gap = "60 s" if second.time - first.time == 60 else "less than 10 s"
    assert second.time - first.time == 60 or second.time - first.time < 10
    print(f"{name}: times are {'now' if now else 'those of the capture'}, gap {gap};"
          f" second: on the wire {second.wirelen}, IP {second[IP].len}, UDP {second[UDP].len}")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
in.pcap: times are those of the capture, gap 60 s; second: on the wire 1042, IP 1028, UDP 1008
out.pcap: times are now, gap less than 10 s; second: on the wire 64, IP 50, UDP 30
SEEN
