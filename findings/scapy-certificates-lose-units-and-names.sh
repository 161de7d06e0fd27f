#!/usr/bin/env bash
# Package: scapy 2.8.0, cryptography 50.0.2 (Python 3.11) with openssl 3.0.19 of Debian 12, seen on
#   2026-11-30.
# Guess: `Cert` of scapy.layers.tls.cert gives the subject of a certificate, with each unit and each
#   attribute of an RDN, its extended key usages and key usages; `PrivKey` reads PKCS#8, which
#   openssl genpkey writes for each kind of key.
# Seen: of two units the last is kept, and of CN and serialNumber in one RDN the serial number: the
#   subject has no common name. Purposes without a name begin with a dot, where those with names
#   have none. Without a key usage there is no such attribute (AttributeError). Of RSA, Ed25519 and
#   P-256 in PKCS#8 the last is not read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0 cryptography==50.0.2
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out P-256.pem
openssl ec -in P-256.pem -out "P-256, SEC 1.pem" 2>/dev/null
openssl genpkey -algorithm ED25519 -out Ed25519.pem
openssl genpkey -algorithm RSA -out RSA.pem 2>/dev/null
cat >run.py <<'PY'
import datetime
import logging
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from scapy.layers.tls.cert import Cert, PrivKey

key = ec.generate_private_key(ec.SECP256R1())
oid = x509.NameOID

def name(*sets):
    return x509.Name([x509.RelativeDistinguishedName(
        [x509.NameAttribute(kind, text) for kind, text in one]) for one in sets])

usages = x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH, x509.ExtendedKeyUsageOID.IPSEC_IKE])
for subject in (name([(oid.COMMON_NAME, "amf1")]),
        name([(oid.ORGANIZATION_NAME, "core")], [(oid.ORGANIZATIONAL_UNIT_NAME, "east")],
            [(oid.ORGANIZATIONAL_UNIT_NAME, "lab")], [(oid.COMMON_NAME, "amf1"), (oid.SERIAL_NUMBER, "7")])):
    certificate = x509.CertificateBuilder(subject, subject, key.public_key(), 5,
        datetime.datetime(2026, 1, 1), datetime.datetime(2040, 1, 1)).add_extension(usages, False).sign(
        key, hashes.SHA256())
    read = Cert(certificate.public_bytes(Encoding.DER))
    print(f"{subject.rfc4514_string()}: {read.subject_str} {read.extKeyUsage}", end=" ")
    try:
        print(read.keyUsage)
    except AttributeError as error:
        print(f"AttributeError: {error}")
for kind in "RSA", "Ed25519", "P-256", "P-256, SEC 1":
    try:
        print(f"{kind}: {type(PrivKey(kind + '.pem')).__name__}")
    except Exception as error:
        print(f"{kind}: {error}")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
CN=amf1: /CN=amf1 ['serverAuth', '.1.3.6.1.5.5.7.3.17'] AttributeError: 'Cert' object has no attribute 'keyUsage'
CN=amf1+2.5.4.5=7,OU=lab,OU=east,O=core: /O=core/OU=lab/serialNumber=7 ['serverAuth', '.1.3.6.1.5.5.7.3.17'] AttributeError: 'Cert' object has no attribute 'keyUsage'
RSA: PrivKeyRSA
Ed25519: PrivKeyEdDSA
P-256: Unable to import private key
P-256, SEC 1: PrivKeyECDSA
SEEN
