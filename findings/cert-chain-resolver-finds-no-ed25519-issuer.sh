#!/usr/bin/env bash
# Package: cert-chain-resolver 1.4.1, cryptography 50.0.2 (Python 3.11) with openssl 3.0.19 of
#   Debian 12, seen on 2026-11-30.
# Guess: the issuer of a certificate is found in a bundle of CAs by its signature, for each kind of
#   key that cryptography verifies. A chain is read from PEM with lines that end in CRLF, or with
#   the text of `openssl x509 -text` or `openssl s_client -showcerts` in front of each certificate
#   (RFC 7468, 5.2: explanatory text).
# Seen: with a CA of Ed25519 or ML-DSA-65, MissingCertProperty ("No hash algorithm found"). Text in
#   front of a certificate and CRLF end in ValueError, since the text is split at "BEGIN" and LF.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cert-chain-resolver==1.4.1 cryptography==50.0.2
cat >run.py <<'PY'
import datetime
import subprocess
from cert_chain_resolver.castore.file_system import FileSystemStore
from cert_chain_resolver.models import Cert, CertificateChain
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, mldsa
from cryptography.hazmat.primitives.serialization import Encoding

def name(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

def make(subject, own, issuer, by):
    builder = x509.CertificateBuilder(name(issuer), name(subject), own.public_key(), 5,
        datetime.datetime(2026, 1, 1), datetime.datetime(2040, 1, 1))
    digest = hashes.SHA256() if isinstance(by, ec.EllipticCurvePrivateKey) else None
    return builder.add_extension(x509.BasicConstraints(subject == issuer, None), True).sign(
        by, digest).public_bytes(Encoding.PEM)

end = ec.generate_private_key(ec.SECP256R1())
for kind, key in (("P-256", ec.generate_private_key(ec.SECP256R1())),
        ("Ed25519", ed25519.Ed25519PrivateKey.generate()),
        ("ML-DSA-65", mldsa.MLDSA65PrivateKey.generate())):
    authority = make("ca", key, "ca", key)
    leaf = make("amf1", end, "ca", key)
    x509.load_pem_x509_certificate(leaf).verify_directly_issued_by(x509.load_pem_x509_certificate(authority))
    with open("bundle.pem", "wb") as out:
        out.write(authority)
    try:
        found = FileSystemStore("bundle.pem").find_issuer(Cert.load(leaf)).subject
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    print(f"issuer of {kind}: {found}")
    if kind != "P-256":
        continue
    texts = b"".join(subprocess.run(["openssl", "x509", "-text"], input=one, capture_output=True,
        check=True).stdout for one in (leaf, authority))
    for form, data in (("plain", leaf + authority), ("CRLF", (leaf + authority).replace(b"\n", b"\r\n")),
            ("with text", texts)):
        try:
            chain = f"{len(CertificateChain.load_from_pem(data))} certificates"
        except ValueError as error:
            chain = "ValueError: " + str(error).split(".")[0]
        read = len(x509.load_pem_x509_certificates(data))
        print(f"chain, {form}: {chain} (cryptography: {read})")
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
issuer of P-256: CN=ca
chain, plain: 2 certificates (cryptography: 2)
chain, CRLF: ValueError: Unable to load PEM file (cryptography: 2)
chain, with text: ValueError: Unable to load PEM file (cryptography: 2)
issuer of Ed25519: MissingCertProperty: No hash algorithm found
issuer of ML-DSA-65: MissingCertProperty: No hash algorithm found
SEEN
