#!/usr/bin/env bash
# Package: ipsecparse 0.3.0 (Python 3.11), seen on 2026-11-30.
# Guess: an ipsec.conf is read with all its parts, and written with them. ipsec.conf(5) of
#   Libreswan and its predecessors allows more than one `also` in a section, and a number sign
#   begins a comment only behind white space.
# Seen: of two `also` the last is kept, so the conn that is written has lost a part, such as the
#   one with the proposals for ML-KEM, without an error. A number sign within a value in quotes ends
#   in ConfTokenError; without quotes it cuts the value there. A distinguished name in quotes comes
#   back.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile ipsecparse==0.3.0
cat >run.py <<'PY'
from ipsecparse import dumps, loads

for name, text in [
    ("two also", "conn gnb\n\talso=pq-proposals\n\talso=certificates\n\tright=192.0.2.1\n"),
    ("quoted number sign", 'ca lab\n\tcrluri="http://192.0.2.3/lab.crl#1"\n'),
    ("number sign", "ca lab\n\tcrluri=http://192.0.2.3/lab.crl#1\n"),
    ("quoted name", 'conn gnb\n\tleftid="C=CH, O=Lab, CN=gnb"\n'),
]:
    try:
        print(f"{name}: {dumps(loads(text))!r}")
    except Exception as error:
        print(f"{name}: {type(error).__name__}")
PY
seen=$(venv/bin/python -W ignore run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
two also: 'conn gnb\n\talso=certificates\n\tright=192.0.2.1\n'
quoted number sign: ConfTokenError
number sign: 'ca lab\n\tcrluri=http://192.0.2.3/lab.crl\n'
quoted name: 'conn gnb\n\tleftid="C=CH, O=Lab, CN=gnb"\n'
SEEN
