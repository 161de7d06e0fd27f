#!/usr/bin/env bash
# Package: ldap-filter 1.0.1 (Python 3.11), seen on 2026-11-30.
# Guess: escaped octets of a filter are those of UTF-8 (RFC 4515, 3), as directories and other
#   libraries write them, and a filter that is read and written is the same. A name of an attribute
#   is compared without its case (RFC 4512, 1.4) and keeps its options; a dot beside `*` is a dot;
#   an empty AND is true (RFC 4526).
# Seen: each octet is a character of Latin-1: Zürich is `ZÃ¼rich`, matches nothing, and is written
#   so. One octet, which is no UTF-8, matches. An option is dropped: the German name is searched as
#   the name of any language. Beside `*`, a dot is any character: 10.1.* matches 10x1. CN is not cn.
#   `(&)` is a ParseError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile ldap-filter==1.0.1
cat >run.py <<'PY'
from ldap_filter import Filter

for text, entry in (
    (r"(l=Zürich)", {"l": "Zürich"}),
    (r"(l=Z\c3\bcrich)", {"l": "Zürich"}),
    (r"(l=Z\fcrich)", {"l": "Zürich"}),
    ("(cn;lang-de=Kern)", {"cn": "Kern"}),
    ("(cn;lang-de=Kern)", {"cn;lang-de": "Kern"}),
    ("(ipHostNumber=10.1.*)", {"ipHostNumber": "10.1.0.1"}),
    ("(ipHostNumber=10.1.*)", {"ipHostNumber": "10x1y0"}),
    ("(ipHostNumber=10.1.0.1)", {"ipHostNumber": "10x1y0z1"}),
    ("(CN=amf1)", {"cn": "amf1"}),
    ("(cn=AMF1)", {"cn": "amf1"}),
    ("(&)", {"cn": "amf1"}),
):
    try:
        read = Filter.parse(text)
        print(text, entry, read.match(entry), "written", read.to_string())
    except Exception as error:
        print(text, type(error).__name__)
PY
seen=$(PYTHONIOENCODING=utf-8 venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
(l=Zürich) {'l': 'Zürich'} True written (l=Zürich)
(l=Z\c3\bcrich) {'l': 'Zürich'} False written (l=ZÃ¼rich)
(l=Z\fcrich) {'l': 'Zürich'} True written (l=Zürich)
(cn;lang-de=Kern) {'cn': 'Kern'} True written (cn=Kern)
(cn;lang-de=Kern) {'cn;lang-de': 'Kern'} False written (cn=Kern)
(ipHostNumber=10.1.*) {'ipHostNumber': '10.1.0.1'} True written (ipHostNumber=10.1.*)
(ipHostNumber=10.1.*) {'ipHostNumber': '10x1y0'} True written (ipHostNumber=10.1.*)
(ipHostNumber=10.1.0.1) {'ipHostNumber': '10x1y0z1'} False written (ipHostNumber=10.1.0.1)
(CN=amf1) {'cn': 'amf1'} False written (CN=amf1)
(cn=AMF1) {'cn': 'amf1'} True written (cn=AMF1)
(&) ParseError
SEEN
