#!/usr/bin/env bash
# Package: ldif 4.3.0 (Python 3.11), seen on 2026-12-01.
# Guess: a value in base64, or one of an attribute with the option `;binary`, is octets, or each is
#   text: the type goes by the line. A modification of an entry (RFC 2849, example 6) is a record.
# Seen: the type goes by the octets: what happens to be UTF-8 is text, another value of the same
#   attribute is octets. A record with `changetype: modify` ends in ValueError at its `-`, and takes
#   the rest of the file along.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile ldif==4.3.0
cat >run.py <<'PY'
from base64 import b64encode
from io import BytesIO
from ldif import LDIFParser


def read(text):
    seen = []
    try:
        for _, attributes in LDIFParser(BytesIO(text)).parse():
            seen.append(dict(attributes))
    except ValueError as error:
        seen.append(f"ValueError: {error}")
    return seen


for key in (bytes(range(0x20, 0x28)), bytes(range(0x7c, 0x84))):
    print(key.hex(), read(b"dn: cn=a\nsharedKey;binary:: " + b64encode(key) + b"\n"))
entry = b"\ndn: cn=b\ncn: b\n"
print("deletion:", read(b"dn: cn=a\nchangetype: delete\n" + entry))
print("modification:", read(b"dn: cn=a\nchangetype: modify\nadd: sn\nsn: x\n-\n" + entry))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
2021222324252627 [{'sharedKey;binary': [' !"#$%&\'']}]
7c7d7e7f80818283 [{'sharedKey;binary': [b'|}~\x7f\x80\x81\x82\x83']}]
deletion: [{'changetype': ['delete']}, {'cn': ['b']}]
modification: ['ValueError: subsection not found']
SEEN
