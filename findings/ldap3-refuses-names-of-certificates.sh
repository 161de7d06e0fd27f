#!/usr/bin/env bash
# Package: ldap3 2.9.1, cryptography 50.0.2 (Python 3.11) with openssl 3.0.19 of Debian 12, seen on
#   2026-11-30.
# Guess: parse_dn reads a subject that openssl prints with `-nameopt RFC2253`: an attribute type may
#   be an object identifier, a value may be a number sign and hexadecimal digits, and an equals sign
#   in a value needs no escape (RFC 4514, 2.4 and 3; it is in the grammar's stringchar).
# Seen: all three are an LDAPInvalidDnError: a CA that looks for the owner of a certificate in its
#   directory by the printed subject finds nothing and fails. With an escape in front of the sign,
#   which openssl does not write, the same name is read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile ldap3==2.9.1 cryptography==50.0.2
cat >run.py <<'PY'
import datetime
import subprocess
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from ldap3.core.exceptions import LDAPInvalidDnError
from ldap3.utils.dn import parse_dn

key = ec.generate_private_key(ec.SECP256R1())

def read(text):
    try:
        said = parse_dn(text)
    except LDAPInvalidDnError as error:
        said = f"LDAPInvalidDnError: {error}"
    print(f"{text}: {said}")

for kind, value in (("2.5.4.3", "amf1"), ("2.5.4.3", "slice=1"), ("1.2.3.4", "a")):
    name = x509.Name([x509.NameAttribute(x509.ObjectIdentifier(kind), value)])
    pem = x509.CertificateBuilder(name, name, key.public_key(), 5, datetime.datetime(2026, 1, 1),
        datetime.datetime(2040, 1, 1)).sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    read(subprocess.run(["openssl", "x509", "-noout", "-subject", "-nameopt", "RFC2253"], input=pem,
        capture_output=True, check=True).stdout.decode().strip()[8:])
for text in "CN=#0C04616D6631", r"CN=slice\=1":
    read(text)
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
CN=amf1: [('CN', 'amf1', '')]
CN=slice=1: LDAPInvalidDnError: special character = must be escaped
1.2.3.4=#0C0161: LDAPInvalidDnError: character '.' not allowed in attribute type
CN=#0C04616D6631: LDAPInvalidDnError: character # not allowed in hex representation of attribute value
CN=slice\=1: [('CN', 'slice\\=1', '')]
SEEN
