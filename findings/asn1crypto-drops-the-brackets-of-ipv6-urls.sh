#!/usr/bin/env bash
# Package: asn1crypto 1.5.1, cryptography 50.0.2 (Python 3.11), seen on 2026-11-30.
# Guess: the URL of a CRL or of an OCSP responder is read from a certificate as it is in it, and
#   `x509.URI` writes what it is given (RFC 5280, 4.2.1.6: an IA5String).
# Seen: the brackets of an IPv6 address are lost when it is read and when it is written:
#   http://[2001:db8::1]/crl becomes http://2001:db8::1/crl, which no client can fetch (the port is
#   not a number). %20 becomes a blank and %7E a tilde when they are read, and written %2F becomes
#   %2f, HTTP://CA.example is in lower case.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile asn1crypto==1.5.1 cryptography==50.0.2
cat >run.py <<'PY'
import datetime
from urllib.parse import urlsplit
import asn1crypto.x509
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

key = ec.generate_private_key(ec.SECP256R1())
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "amf1")])
for url in ("http://ca.example/crl", "http://10.0.0.1:8080/crl", "http://[2001:db8::1]/crl",
        "http://[2001:db8::1]:8080/crl", "http://ca.example/my%20crl", "http://ca.example/%7Eca",
        "http://ca.example/a%2Fb"):
    point = x509.DistributionPoint([x509.UniformResourceIdentifier(url)], None, None, None)
    octets = x509.CertificateBuilder(name, name, key.public_key(), 5, datetime.datetime(2026, 1, 1),
        datetime.datetime(2040, 1, 1)).add_extension(x509.CRLDistributionPoints([point]), False).sign(
        key, hashes.SHA256()).public_bytes(Encoding.DER)
    read = asn1crypto.x509.Certificate.load(octets).crl_distribution_points[0].url
    written = asn1crypto.x509.URI(url).contents.decode()
    try:
        urlsplit(read).port
        usable = ""
    except ValueError as error:
        usable = " (ValueError)"
    print(f"{url}: read {'the same' if read == url else read}{usable},",
        f"written {'the same' if written == url else written}")
print("HTTP://CA.example/ written", asn1crypto.x509.URI("HTTP://CA.example/").contents.decode())
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
http://ca.example/crl: read the same, written the same
http://10.0.0.1:8080/crl: read the same, written the same
http://[2001:db8::1]/crl: read http://2001:db8::1/crl (ValueError), written http://2001:db8::1/crl
http://[2001:db8::1]:8080/crl: read http://2001:db8::1:8080/crl (ValueError), written http://2001:db8::1:8080/crl
http://ca.example/my%20crl: read http://ca.example/my crl, written the same
http://ca.example/%7Eca: read http://ca.example/~ca, written http://ca.example/~ca
http://ca.example/a%2Fb: read http://ca.example/a%2fb, written http://ca.example/a%2fb
HTTP://CA.example/ written http://ca.example/
SEEN
