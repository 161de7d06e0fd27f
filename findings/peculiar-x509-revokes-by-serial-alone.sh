#!/usr/bin/env bash
# Package: @peculiar/x509 2.2.0 (Node 20); cryptography 50.0.2 makes the certificates and the CRL
#   (Python 3.11); seen on 2026-11-30.
# Guess: `findRevoked(certificate)` of a CRL finds an entry for that certificate. An entry is for an
#   issuer and a serial number: the issuer of the CRL, or in an indirect CRL the last
#   certificateIssuer before it (RFC 5280, 5.3.3). removeFromCRL (5.3.1) is no revocation.
# Seen: the serial number alone is compared, though a certificate was given. A certificate of
#   another CA with serial number 5 is found in this CA's CRL. In an indirect CRL, one of this CA is
#   found by the entry of another CA, and an entry with removeFromCRL is found like all others. CAs
#   that number from 1, as small networks have them, revoke each other's certificates.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cryptography==50.0.2
npm install --silent --no-audit --no-fund --ignore-scripts \
  @peculiar/x509@2.2.0 reflect-metadata@0.2.2 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >make.py <<'PY'
import datetime
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

key = ec.generate_private_key(ec.SECP256R1())
start = datetime.datetime(2026, 11, 1)
end = start + datetime.timedelta(days=365)

def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

def write(path, signed):
    with open(path, "wb") as out:
        out.write(signed.public_bytes(serialization.Encoding.PEM))

for issuer in ("ca one", "ca two"):
    for serial in (5, 6, 7):
        write(f"{issuer} {serial}.pem", x509.CertificateBuilder().subject_name(name("nf"))
              .issuer_name(name(issuer)).public_key(key.public_key()).serial_number(serial)
              .not_valid_before(start).not_valid_after(end).sign(key, hashes.SHA256()))

def entry(serial, *extensions):
    builder = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(start)
    for extension in extensions:
        critical = isinstance(extension, x509.CertificateIssuer)
        builder = builder.add_extension(extension, critical=critical)
    return builder.build()

crl = (x509.CertificateRevocationListBuilder().issuer_name(name("ca one"))
       .last_update(start).next_update(end)
       .add_extension(x509.CRLNumber(2), critical=False)
       .add_extension(x509.DeltaCRLIndicator(1), critical=True)
       .add_extension(x509.IssuingDistributionPoint(None, None, False, False, None, True, False),
                      critical=True))
for one in (entry(5), entry(6, x509.CRLReason(x509.ReasonFlags.remove_from_crl)),
            entry(7, x509.CertificateIssuer([x509.DirectoryName(name("ca two"))]))):
    crl = crl.add_revoked_certificate(one)
write("crl.pem", crl.sign(key, hashes.SHA256()))
PY
cat >run.js <<'JS'
require("reflect-metadata");
const fs = require("fs");
const { X509Certificate, X509Crl } = require("@peculiar/x509");

const crl = new X509Crl(fs.readFileSync("crl.pem", "utf8"));
for (const name of ["ca one 5", "ca two 5", "ca one 6", "ca one 7", "ca two 7"]) {
  const certificate = new X509Certificate(fs.readFileSync(`${name}.pem`, "utf8"));
  const found = crl.findRevoked(certificate);
  console.log(`${certificate.issuer}, ${certificate.serialNumber}:`, found ? "revoked" : "no");
}
JS
seen=$(venv/bin/python make.py && node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
CN=ca one, 05: revoked
CN=ca two, 05: revoked
CN=ca one, 06: revoked
CN=ca one, 07: revoked
CN=ca two, 07: revoked
SEEN
