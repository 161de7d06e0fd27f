#!/usr/bin/env bash
# Package: cryptography 50.0.2 (Python 3.11) with openssl 3.0.19 of Debian 12, seen on 2026-11-30.
# Guess: `Name.from_rfc4514_string` reads a subject as `openssl x509 -nameopt RFC2253` prints it. A
#   value behind a number sign is the DER of the value in hexadecimal (RFC 4514, 2.4 and 3); names
#   of attributes are read in upper and lower case (RFC 4512, 1.4); emailAddress and serialNumber,
#   which openssl writes, are known. What `rfc4514_string` writes is read again.
# Seen: the DER becomes the text: 1.2.3.4=#0C0161 is a value of three characters, form feed among
#   them, where it is "a", and a certificate from that name has another subject. serialNumber,
#   emailAddress and cn in lower case end in a ValueError without a word. A control character in the
#   value is written as it is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cryptography==50.0.2
cat >run.py <<'PY'
import datetime
import subprocess
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

key = ec.generate_private_key(ec.SECP256R1())
oid = x509.NameOID
for kind, value in ((x509.ObjectIdentifier("1.2.3.4"), "a"), (oid.SERIAL_NUMBER, "7"),
        (oid.EMAIL_ADDRESS, "a@example.org")):
    real = x509.Name([x509.NameAttribute(oid.COMMON_NAME, "amf1"), x509.NameAttribute(kind, value)])
    pem = x509.CertificateBuilder(real, real, key.public_key(), 5, datetime.datetime(2026, 1, 1),
        datetime.datetime(2040, 1, 1)).sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    text = subprocess.run(["openssl", "x509", "-noout", "-subject", "-nameopt", "RFC2253"], input=pem,
        capture_output=True, check=True).stdout.decode().strip()[8:]
    try:
        read = x509.Name.from_rfc4514_string(text)
        said = f"{[one.value for one in read]}, the same name: {read == real}"
    except ValueError as error:
        said = f"ValueError({str(error)!r})"
    print(f"{text}: {said}")
for text in "CN=amf1", "cn=amf1", "2.5.4.3=amf1", "2.5.4.3=#0C04616D6631":
    try:
        print(f"{text}: {x509.Name.from_rfc4514_string(text).rfc4514_string()!r}")
    except ValueError as error:
        print(f"{text}: ValueError({str(error)!r})")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
1.2.3.4=#0C0161,CN=amf1: ['amf1', '\x0c\x01a'], the same name: False
serialNumber=7,CN=amf1: ValueError('')
emailAddress=a@example.org,CN=amf1: ValueError('')
CN=amf1: 'CN=amf1'
cn=amf1: ValueError('')
2.5.4.3=amf1: 'CN=amf1'
2.5.4.3=#0C04616D6631: 'CN=\x0c\x04amf1'
SEEN
