#!/usr/bin/env bash
# Package: cbom4cert 0.1.1 with cryptography 50.0.2 (Python 3.11), seen on 2026-11-30.
# Guess: a generator of a CBOM for certificates lists each certificate it is given, those that are
#   signed with ML-DSA (RFC 9881) or Ed25519 above all, and two files of the same name in two
#   folders, as the `tls.crt` of Kubernetes, are two assets. A PEM file may hold a chain.
# Seen: the first certificate whose signature names no hash of its own ends the scan of the folder in
#   AttributeError, so there is no CBOM. Of two `tls.crt` the last is listed, of a chain the first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cbom4cert==0.1.1 lib4sbom==0.10.4 cryptography==50.0.2
cat >run.py <<'PY'
import datetime
import json
from pathlib import Path
from cbom4cert.generator import CBOMGenerator
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, mldsa

def certificate(name, key):
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    day = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    algorithm = hashes.SHA256() if isinstance(key, ec.EllipticCurvePrivateKey) else None
    return (x509.CertificateBuilder().subject_name(subject).issuer_name(subject)
            .public_key(key.public_key()).serial_number(7).not_valid_before(day)
            .not_valid_after(day + datetime.timedelta(days=36500)).sign(key, algorithm)
            .public_bytes(serialization.Encoding.PEM))

def p256():
    return ec.generate_private_key(ec.SECP256R1())

def scan(title, **files):
    root = Path(title.replace(" ", "-"))
    for path, octets in files.items():
        (root / path).mkdir(parents=True)
        (root / path / "tls.crt").write_bytes(octets)
    generator = CBOMGenerator()
    try:
        generator.get_system_certificates([str(root)])
        generator.create_cbom(outfile="cbom.json")
        assets = json.loads(Path("cbom.json").read_text())["components"]
        subjects = [asset["cryptoProperties"]["certificateProperties"]["subjectName"]
                    for asset in assets]
        print(f"{title}: {len(subjects)} listed")
    except AttributeError as error:
        print(f"{title}: AttributeError: {error}")

scan("P-256", amf=certificate("amf", p256()))
scan("P-256 and ML-DSA-65", amf=certificate("amf", p256()),
     smf=certificate("smf", mldsa.MLDSA65PrivateKey.generate()))
scan("Ed25519", amf=certificate("amf", ed25519.Ed25519PrivateKey.generate()))
scan("two of P-256", amf=certificate("amf", p256()), smf=certificate("smf", p256()))
scan("chain of P-256", amf=certificate("amf", p256()) + certificate("ca", p256()))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
P-256: 1 listed
P-256 and ML-DSA-65: AttributeError: 'NoneType' object has no attribute 'name'
Ed25519: AttributeError: 'NoneType' object has no attribute 'name'
two of P-256: 1 listed
chain of P-256: 1 listed
SEEN
