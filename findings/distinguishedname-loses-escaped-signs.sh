#!/usr/bin/env bash
# Package: distinguishedname 1.0.2, cryptography 50.0.2 (Python 3.11), seen on 2026-11-30.
# Guess: string_to_dn and dn_to_string are inverse for names as openssl and cryptography print them
#   (RFC 2253 and RFC 4514): escaped pairs of digits are octets of UTF-8, `\#` and `\ ` are a number
#   sign and a blank.
# Seen: M\C3\BCller becomes "MÃ¼ller"; \# and "\ " lose the sign behind the backslash. No name
#   with a letter outside of ASCII is written: TypeError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile distinguishedname==1.0.2 cryptography==50.0.2
cat >run.py <<'PY'
from cryptography import x509
from distinguishedname import dn_to_string, string_to_dn

for text in r"CN=M\C3\BCller", r"CN=\#1", r"CN=a\ ,O=b", r"CN=a\+b+OU=c", "CN=Müller":
    name = x509.Name.from_rfc4514_string(text)
    values = [[f"{one.rfc4514_attribute_name}={one.value}" for one in part] for part in reversed(name.rdns)]
    read = string_to_dn(text)
    try:
        written = dn_to_string(read)
    except TypeError as error:
        written = f"TypeError: {error}"
    same = "as cryptography does" if read == values else f"cryptography: {values}"
    print(f"{text}: {read} ({same}), written: {written}")
PY
seen=$(PYTHONUTF8=1 venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
CN=M\C3\BCller: [['CN=MÃ¼ller']] (cryptography: [['CN=Müller']]), written: TypeError: not all arguments converted during string formatting
CN=\#1: [['CN=1']] (cryptography: [['CN=#1']]), written: CN=1
CN=a\ ,O=b: [['CN=a'], ['O=b']] (cryptography: [['CN=a '], ['O=b']]), written: CN=a,O=b
CN=a\+b+OU=c: [['CN=a+b', 'OU=c']] (as cryptography does), written: CN=a\+b+OU=c
CN=Müller: [['CN=Müller']] (as cryptography does), written: TypeError: not all arguments converted during string formatting
SEEN
