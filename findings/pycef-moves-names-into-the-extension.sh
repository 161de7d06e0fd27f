#!/usr/bin/env bash
# Packages: pycef 1.11, pourover 0.1b8 (Python 3.11), seen on 2026-11-30.
# Guess: the examples of the Common Event Format's own text are read as it explains them. In the
#   header a pipe and a backslash are escaped and an equal sign is not; in the extension a
#   backslash and an equal sign are escaped and a pipe is not. A severity is a number or a word.
# Seen: a name with an equal sign, or with an escaped pipe or backslash, is the empty name for
#   pycef. There is no severity then, and the end of the name, the severity and the first key are
#   one key: `rejected|5|src`. pourover loses each pair in front of a pipe in the extension, and
#   refuses the severity High. Both keep the escapes in the values; \n is no line break.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pycef==1.11 pourover==0.1b8
cat >run.py <<'PY'
import pourover
import pycef

def seen(name, line):
    read = pycef.parse(line)
    hidden = ("DeviceVendor", "DeviceProduct", "DeviceVersion", "DeviceEventClassID",
              "DeviceName", "DeviceSeverity", "CEFVersion")
    print(name)
    for key in hidden:
        read.pop(key, None)
    print("  pycef   ", read)
    try:
        read = pourover.parse_line(line)
        print("  pourover", read.name, read.severity, dict(read.extensions))
    except ValueError as error:
        print("  pourover", error)

head = "CEF:0|security|threatmanager|1.0|100|"
seen("equal sign", head + r"sst=1 rejected|5|src=10.0.0.1 msg=no subscription")
seen("pipes", head + r"detected a \| in message|10|src=10.0.0.1 act=blocked a | dst=1.1.1.1")
seen("backslash", head + r"detected a \\ in packet|10|src=10.0.0.1 act=blocked a \\ dst=1.1.1.1")
seen("escapes", head + r"detected|10|src=10.0.0.1 act=a \= b msg=one\ntwo")
seen("severity", head + r"detected|High|src=10.0.0.1")
PY
seen=$(venv/bin/python -W ignore run.py 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
equal sign
  pycef    {'Name': '', 'sst': '1', 'rejected|5|src': '10.0.0.1', 'msg': 'no subscription'}
  pourover sst=1 rejected 5 {'src': '10.0.0.1', 'msg': 'no subscription'}
pipes
  pycef    {'Name': '', 'message|10|src': '10.0.0.1', 'act': 'blocked a |', 'dst': '1.1.1.1'}
  pourover detected a \| in message 10 {'dst': '1.1.1.1'}
backslash
  pycef    {'Name': '', 'packet|10|src': '10.0.0.1', 'act': 'blocked a \\\\', 'dst': '1.1.1.1'}
  pourover detected a \\ in packet 10 {'src': '10.0.0.1', 'act': 'blocked a \\\\', 'dst': '1.1.1.1'}
escapes
  pycef    {'Name': 'detected', 'Severity': '10', 'src': '10.0.0.1', 'act': 'a \\= b', 'msg': 'one\\ntwo'}
  pourover detected 10 {'src': '10.0.0.1', 'act': 'a \\= b', 'msg': 'one\\ntwo'}
severity
  pycef    {'Name': 'detected', 'Severity': 'High', 'src': '10.0.0.1'}
  pourover The CEF Severity field must be an integer!
SEEN
