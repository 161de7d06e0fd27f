#!/usr/bin/env bash
# Package: dnslib 0.9.26 (Python 3.11), dnspython 2.9.2 reads the same lines, seen on 2026-12-01.
# Guess: in a zone file \DDD is an octet in decimal digits and \. is a dot inside of a label
#   (RFC 1035, 5.1). What str() gives for a record can be read again. A time to live may have units
#   as dnspython and BIND have them.
# Seen: the digits are read as octal: \065 is 5, not A, and \195 is a ValueError. `a\.b.example` is
#   three labels, the first with a backslash. A quotation mark in a TXT is written without its
#   escape, and what is read again ends in IndexError. 1h is taken for a type.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile dnslib==0.9.26 dnspython==2.9.2
cat >run.py <<'PY'
import dns.zone
from dnslib import RR


def data(record):
    value = record.rdata
    return [bytes(one) for one in value.data] if type(value).__name__ == "TXT" else str(value)


def read(line):
    try:
        (record,) = RR.fromZone(line)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:75]
    return f"{[bytes(label) for label in record.rname.label]} {data(record)}"


for line in (r'a.example. 60 IN TXT "\065"', r'a.example. 60 IN TXT "\195\188"',
             r'a\.b.example. 60 IN A 192.0.2.1', 'a.example. 1h IN A 192.0.2.1',
             r'a.example. 60 IN TXT "a\"b" "c"'):
    zone = dns.zone.from_text(line + "\n", origin=".", relativize=False, check_origin=False)
    (name, other), = [(name, node.rdatasets[0]) for name, node in zone.items()]
    print(line)
    print("  dnslib:", read(line))
    print("  dnspython:", list(name.labels), other[0].to_text())
(record,) = RR.fromZone(r'a.example. 60 IN TXT "a\"b" "c"')
print("written:", str(record).split("TXT")[1].strip())
try:
    print("read again:", data(RR.fromZone(str(record))[0]))
except Exception as error:
    print("read again:", type(error).__name__)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
a.example. 60 IN TXT "\065"
  dnslib: [b'a', b'example'] [b'5']
  dnspython: [b'a', b'example', b''] "A"
a.example. 60 IN TXT "\195\188"
  dnslib: ValueError: invalid literal for int() with base 8: '195'
  dnspython: [b'a', b'example', b''] "\195\188"
a\.b.example. 60 IN A 192.0.2.1
  dnslib: [b'a\\', b'b', b'example'] 192.0.2.1
  dnspython: [b'a.b', b'example', b''] 192.0.2.1
a.example. 1h IN A 192.0.2.1
  dnslib: DNSError: QTYPE: Invalid reverse lookup: [1h]
  dnspython: [b'a', b'example', b''] 192.0.2.1
a.example. 60 IN TXT "a\"b" "c"
  dnslib: [b'a', b'example'] [b'a"b', b'c']
  dnspython: [b'a', b'example', b''] "a\"b" "c"
written: "a"b" "c"
read again: IndexError
SEEN
