#!/usr/bin/env bash
# Packages: pki-tools 2.2.1 with cryptography 50.0.2 (Python 3.11), seen on 2026-11-30.
# Guess: certificates and revocation lists that cryptography reads are read: an authority that is
#   constrained to permitted names alone, or by excluded ones alone (RFC 5280, 4.2.1.10: either part
#   may be left out), a certificate with ML-DSA (RFC 9881), and a list with what it revokes.
# Seen: name constraints with one part end in TypeError as soon as the certificate is read, so no
#   chain of such an authority can be checked; a certificate with ML-DSA ends in KeyError. The
#   revoked certificates of a list that was loaded are None, and its text ends in TypeError;
#   get_revoked finds the certificate.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pki-tools==2.2.1 cryptography==50.0.2
cat >run.py <<'PY'
import datetime
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, mldsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from loguru import logger
from pki_tools import Certificate, CertificateRevocationList

logger.remove()
START = datetime.datetime(2026, 11, 1, tzinfo=datetime.timezone.utc)
END = START + datetime.timedelta(days=60)
CA = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "CA")])
CURVE = ec.generate_private_key(ec.SECP256R1())


def certificate(extension=None, key=CURVE):
    builder = (x509.CertificateBuilder().subject_name(CA).issuer_name(CA).serial_number(7)
               .public_key(key.public_key()).not_valid_before(START).not_valid_after(END))
    if extension:
        builder = builder.add_extension(extension, critical=True)
    made = builder.sign(key, hashes.SHA256() if key is CURVE else None)
    return made.public_bytes(Encoding.PEM).decode()

def show(title, action):
    try:
        print(f"{title}: {action()}")
    except Exception as error:
        print(f"{title}: {type(error).__name__}: {error}")

dns = [x509.DNSName("core.example")]
for title, text in [
    ("no constraints", certificate()),
    ("permitted and excluded", certificate(x509.NameConstraints(dns, [x509.DNSName("test")]))),
    ("permitted alone", certificate(x509.NameConstraints(dns, None))),
    ("excluded alone", certificate(x509.NameConstraints(None, dns))),
    ("ML-DSA-65", certificate(key=mldsa.MLDSA65PrivateKey.generate())),
]:
    show(title, lambda: Certificate.from_pem_string(text).serial_number)
revoked = x509.RevokedCertificateBuilder().serial_number(9).revocation_date(START).build()
crl = (x509.CertificateRevocationListBuilder().issuer_name(CA).last_update(START)
       .next_update(END).add_revoked_certificate(revoked)
       .add_extension(x509.CRLNumber(1), False).sign(CURVE, hashes.SHA256()))
crl = CertificateRevocationList.from_der_bytes(crl.public_bytes(Encoding.DER))
show("revoked", lambda: crl.revoked_certs)
show("get_revoked", lambda: crl.get_revoked(9).serial)
show("text", lambda: len(str(crl)) > 0)
PY
seen=$(venv/bin/python -W ignore run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
no constraints: 7
permitted and excluded: 7
permitted alone: TypeError: 'NoneType' object is not iterable
excluded alone: TypeError: 'NoneType' object is not iterable
ML-DSA-65: KeyError: 'MLDSA65PublicKey'
revoked: None
get_revoked: 9
text: TypeError: 'NoneType' object is not iterable
SEEN
