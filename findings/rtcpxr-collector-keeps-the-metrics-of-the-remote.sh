#!/usr/bin/env bash
# Package: rtcpxr-collector 0.1.7 (Python 3.11), seen on 2026-12-01.
# Guess: of a report of voice quality (RFC 6035) the local and the remote metrics are kept apart,
#   and an address may have any user and any host.
# Seen: lines below RemoteMetrics overwrite those below LocalMetrics: one loss rate is left, the one
#   of the other side, beside two empty texts. An address is read when its user is hexadecimal
#   digits in capitals, and its host has no hyphen and is not IPv6; else it is False.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile rtcpxr-collector==0.1.7
cat >run.py <<'PY'
from types import SimpleNamespace
from rtcpxr_collector.sipparser import parsesip, parseSipAddr

body = ["VQSessionReport: CallTerm", "CallID:6dg37f1890463", "LocalMetrics:",
        "PacketLoss:NLR=5.0 JDR=2.0", "QualityEst:MOSLQ=4.2 MOSCQ=3.3",
        "RemoteMetrics:", "PacketLoss:NLR=0.0 JDR=0.0", ""]
headers = {"to": "<sip:001122AABBCC@example.org>", "from": "<sip:A@example.org>",
           "contact": "<sip:A@192.0.2.1>", "user-agent": "phone"}
report = parsesip(SimpleNamespace(headers=headers, body="\r\n".join(body)))
for name in ("LocalMetrics", "RemoteMetrics", "PacketLoss", "QualityEst"):
    print(name, repr(report.get(name)))
for address in ("<sip:A1@192.0.2.1:5060>", "<sip:alice@example.org>", "<sip:+4912@example.org>",
                "<sip:A1@ims-core.example>", "<sip:A1@[2001:db8::1]:5060>"):
    print(address, parseSipAddr(address))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
LocalMetrics ''
RemoteMetrics ''
PacketLoss {'NLR': '0.0', 'JDR': '0.0'}
QualityEst {'MOSLQ': '4.2', 'MOSCQ': '3.3'}
<sip:A1@192.0.2.1:5060> {'desc': '', 'name': 'A1', 'ip': '192.0.2.1', 'port': '5060'}
<sip:alice@example.org> False
<sip:+4912@example.org> False
<sip:A1@ims-core.example> False
<sip:A1@[2001:db8::1]:5060> False
SEEN
