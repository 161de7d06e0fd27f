#!/usr/bin/env bash
# Package: asn1crypto 1.5.1 (Python 3.11), seen on 2026-11-29. cryptography 50.0.2 signs the
#   certificate and verifies it.
# Guess: an ML-DSA key (RFC 9881) is read as a signature algorithm without a name is: its OID is a
#   dotted string, and the key a bit string.
# Seen: the first read of any field of the SubjectPublicKeyInfo, its algorithm included, raises
#   KeyError. The second read of the same object returns the OID, and a structure of one field: the
#   key is gone. A program that catches the error and reads again gets a key without key bits. The
#   encoding stays whole.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet asn1crypto==1.5.1 cryptography==50.0.2
cat >"$folder/run.py" <<'PY'
import datetime

import asn1crypto.x509
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import mldsa
from cryptography.hazmat.primitives.serialization import Encoding

key = mldsa.MLDSA65PrivateKey.generate()
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "du1.example")])
day = datetime.datetime(2026, 1, 1)
builder = x509.CertificateBuilder(name, name, key.public_key(), 1, day, day.replace(year=2027))
certificate = builder.sign(key, None)
certificate.verify_directly_issued_by(certificate)
encoded = certificate.public_bytes(Encoding.DER)

read = asn1crypto.x509.Certificate.load(encoded)
print("signature algorithm:", read["signature_algorithm"]["algorithm"].native)
for turn in "first", "second":
    for field in "algorithm", "public_key":
        try:
            print(f"{turn} read, {field}:", dict(read.public_key[field].native))
        except KeyError as error:
            print(f"{turn} read, {field}: KeyError", error.args[0].split(" is present")[0])
        if turn == "first":
            break
print("fields:", list(read.public_key.native))
print("encoding is whole:", read.dump() == encoded)
PY
seen=$("$folder/venv/bin/python" "$folder/run.py")
echo "$seen"
[ "$seen" = "signature algorithm: 2.16.840.1.101.3.4.3.18
first read, algorithm: KeyError 2.16.840.1.101.3.4.3.18
second read, algorithm: {'algorithm': '2.16.840.1.101.3.4.3.18', 'parameters': None}
second read, public_key: KeyError No field numbered 1
fields: ['algorithm']
encoding is whole: True" ] || { echo "changed" >&2; exit 1; }
