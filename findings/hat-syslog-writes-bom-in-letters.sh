#!/usr/bin/env bash
# Package: hat-syslog 0.7.28 (Python 3.11), seen on 2026-11-30.
# Guess: a text in UTF-8 has the byte order mark in front that RFC 5424, 6.4, asks for, the octets EF BB
#   BF, and it is taken off when the message is read.
# Seen: the three letters "BOM" are written in front of each text, so other readers show "BOMN2 lost".
#   Read, the letters are taken off: "BOM of release 1.7 is missing" begins with "of", while a real
#   mark stays in the text. Of two addresses of the element origin the last is kept, and a leap
#   second ends in TypeError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --no-deps hat-syslog==0.7.28 hat-json==0.6.8 \
  hat-util==0.6.22 tomli_w==1.2.0 pyyaml==6.0.4 jsonschema==4.26.0 referencing==0.37.0 \
  rpds-py==2026.9.1 attrs==26.1.0 jsonschema-specifications==2025.9.1 typing_extensions==4.16.0
cat >run.py <<'PY'
from hat.syslog import common, encoder

message = common.Msg(
    facility=common.Facility.USER, severity=common.Severity.ERROR, version=1, timestamp=None,
    hostname="amf1", app_name="amf", procid=None, msgid=None, data=None, msg="N2 lost")
written = encoder.msg_to_str(message).encode()
print("written:", written)
print("read by itself:", encoder.msg_from_str(written.decode()).msg)
for text in [
    "<11>1 - amf1 amf - - - \ufeffN2 lost",
    "<11>1 - amf1 amf - - - BOM of release 1.7 is missing",
    '<11>1 - amf1 amf - - [origin ip="192.0.2.1" ip="192.0.2.2"] up',
    "<11>1 2026-12-31T23:59:60Z amf1 amf - - - up",
]:
    try:
        read = encoder.msg_from_str(text)
        print(ascii(text), "is", ascii(read.msg), read.data or "")
    except Exception as error:
        print(ascii(text), "is a", type(error).__name__)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
written: b'<11>1 - amf1 amf - - - BOMN2 lost'
read by itself: N2 lost
'<11>1 - amf1 amf - - - \ufeffN2 lost' is '\ufeffN2 lost' 
'<11>1 - amf1 amf - - - BOM of release 1.7 is missing' is ' of release 1.7 is missing' 
'<11>1 - amf1 amf - - [origin ip="192.0.2.1" ip="192.0.2.2"] up' is 'up' {"origin": {"ip": "192.0.2.2"}}
'<11>1 2026-12-31T23:59:60Z amf1 amf - - - up' is a TypeError
SEEN
