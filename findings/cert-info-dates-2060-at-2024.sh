#!/usr/bin/env bash
# Package: cert-info 1.5.1, cert2json 1.0.13 (Node 20); cryptography 50.0.2 makes the certificates
#   (Python 3.11); seen on 2026-11-30.
# Guess: the end of a certificate's validity is read from both forms of RFC 5280 (4.1.2.5):
#   UTCTime through 2049, GeneralizedTime from 2050 on. A root of 2026 often ends after 2050.
# Seen: cert-info takes each time for a UTCTime. 1 January 2060 is read as 1 December 2024, so a
#   certificate that is valid for 33 years has expired, and the end 99991231235959Z, "no
#   well-defined expiration date", is in 2107. cert2json reads no certificate with such a time.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cryptography==50.0.2
npm install --silent --no-audit --no-fund --ignore-scripts cert-info@1.5.1 cert2json@1.0.13 \
  >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >make.py <<'PY'
import datetime
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

key = ec.generate_private_key(ec.SECP256R1())

def write(file, end):
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "amf1")])
    certificate = x509.CertificateBuilder(name, name, key.public_key(), 5,
        datetime.datetime(2026, 1, 1), end)
    certificate = certificate.add_extension(
        x509.SubjectAlternativeName([x509.DNSName("amf1.example.org")]), False)
    with open(file, "wb") as out:
        out.write(certificate.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))

write("2049.pem", datetime.datetime(2049, 1, 1))
write("2060.pem", datetime.datetime(2060, 1, 1))
write("9999.pem", datetime.datetime(9999, 12, 31, 23, 59, 59))
PY
venv/bin/python make.py
cat >run.js <<'JS'
const fs = require("fs");
const certInfo = require("cert-info");
const cert2json = require("cert2json");

const day = (time) => new Date(time).toISOString().slice(0, 10);
const attempt = (read) => {
  try {
    return read();
  } catch (error) {
    return error.message;
  }
};
for (const name of ["2049", "2060", "9999"]) {
  const pem = fs.readFileSync(`${name}.pem`, "utf8");
  console.log(`${name}, cert-info:`, attempt(() => day(certInfo.info(pem).expiresAt)));
  console.log(`${name}, cert2json:`, attempt(() => day(cert2json.parse(pem).tbs.validity.notAfter)));
}
JS
seen=$(TZ=UTC node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
2049, cert-info: 2049-01-01
2049, cert2json: 2049-01-01
2060, cert-info: 2024-12-01
2060, cert2json: No parsing function for GENERALIZEDTIME 18
9999, cert-info: 2107-03-13
9999, cert2json: No parsing function for GENERALIZEDTIME 18
SEEN
