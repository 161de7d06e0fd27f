#!/usr/bin/env bash
# Package: pkilint 0.13.3, cryptography 50.0.2 (Python 3.11), seen on 2026-11-30.
# Guess: lint_pkix_cert finds no error in the SubjectAltName of a certificate that RFC 5280 allows:
#   a URI of any scheme (4.2.1.6, RFC 3986), the urn:uuid of an NF instance (TS 33.310, 6.1.3c), a
#   SPIFFE ID, a DNS name of one label (RFC 1034, 3.5).
# Seen: "Invalid URI syntax" for urn, spiffe, sip, tag and mailto, and for a host of one label;
#   "Invalid domain name syntax" for a name of one label. Each certificate of an NF or a workload
#   fails a gate that asks for no ERROR. http and ldap with a dotted name or an address pass.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pkilint==0.13.3 cryptography==50.0.2
cat >run.py <<'PY'
import datetime
import subprocess
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

key = ec.generate_private_key(ec.SECP256R1())
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "amf1")])
names = [x509.DNSName("amf1.example.org"), x509.DNSName("amf1")] + [
    x509.UniformResourceIdentifier(uri) for uri in (
        "http://amf1.example.org/", "http://amf1/", "http://[2001:db8::1]/",
        "urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64", "spiffe://core.example.org/amf",
        "sip:amf@example.org", "tag:example.org,2026:amf", "mailto:amf@example.org")]
for one in names:
    certificate = x509.CertificateBuilder(name, name, key.public_key(), 0x7766554433221100AABB,
        datetime.datetime(2026, 1, 1), datetime.datetime(2030, 1, 1))
    for extension in (x509.SubjectAlternativeName([one]),
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
            x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())):
        certificate = certificate.add_extension(extension, False)
    with open("one.pem", "wb") as out:
        out.write(certificate.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    said = subprocess.run(["venv/bin/lint_pkix_cert", "lint", "one.pem", "-s", "ERROR"],
        capture_output=True, text=True)
    errors = [line.split()[0] for line in said.stdout.splitlines() if "(ERROR)" in line]
    print(f"{one.value}: exit {said.returncode} {' '.join(errors)}".strip())
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
amf1.example.org: exit 0
amf1: exit 1 pkix.invalid_domain_name_syntax
http://amf1.example.org/: exit 0
http://amf1/: exit 1 pkix.invalid_uri_syntax
http://[2001:db8::1]/: exit 0
urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64: exit 1 pkix.invalid_uri_syntax
spiffe://core.example.org/amf: exit 1 pkix.invalid_uri_syntax
sip:amf@example.org: exit 1 pkix.invalid_uri_syntax
tag:example.org,2026:amf: exit 1 pkix.invalid_uri_syntax
mailto:amf@example.org: exit 1 pkix.invalid_uri_syntax
SEEN
