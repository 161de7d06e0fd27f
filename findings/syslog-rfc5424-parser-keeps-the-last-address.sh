#!/usr/bin/env bash
# Package: syslog-rfc5424-parser 0.3.2 (Python 3.11), seen on 2026-11-30.
# Guess: a parameter may occur several times in an element of structured data (RFC 5424, 6.3.3), as
#   `ip` of the registered element `origin` does for a host with several addresses (7.2.1), and all
#   values are kept. The backslash before a quote, a bracket or a backslash is not part of a value.
#   A header field without a value, "-", is read alike in each place.
# Seen: the last value replaces those before. Escapes stay in the values, so a value is not the one
#   that was sent. An absent host, application or time is the text "-", an absent process or message
#   identifier is None.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile syslog-rfc5424-parser==0.3.2
cat >run.py <<'PY'
import json
from syslog_rfc5424_parser import SyslogMessage

start = "<165>1 2026-11-30T10:00:00Z gnb1 app 12 ID1 "
for element in ['[origin ip="192.0.2.1" ip="2001:db8::1"]', r'[x@32473 log="\"a\" [1\] c:\\d"]']:
    read = SyslogMessage.parse(start + element + " text")
    print(element)
    for values in read.sd.values():
        for name, value in values.items():
            print(" ", name, "=", value)
print(json.dumps(SyslogMessage.parse("<165>1 - - - - - - text").as_dict()))
PY
seen=$(venv/bin/python run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
[origin ip="192.0.2.1" ip="2001:db8::1"]
  ip = 2001:db8::1
[x@32473 log="\"a\" [1\] c:\\d"]
  log = \"a\" [1\] c:\\d
{"severity": "notice", "facility": "local4", "version": 1, "timestamp": "-", "hostname": "-", "appname": "-", "procid": null, "msgid": null, "sd": {}, "msg": "text"}
SEEN
