#!/usr/bin/env bash
# Package: acme-client 5.4.0 (Node 20); cryptography 50.0.2 makes the certificate and reads the
#   request (Python 3.11); seen on 2026-11-30.
# Guess: `readCertificateInfo(...).domains.altNames`, with which a certificate is renewed, has the
#   DNS names of the certificate (and perhaps its IP addresses, RFC 8738). `createCsr` writes each
#   name in its own form, or refuses it.
# Seen: altNames has the value of each name, whatever its form: a URI, an e-mail address, a
#   directory name, an OID. createCsr writes all of them but IP addresses as DNS names: an NF
#   certificate of TS 33.310, whose URI urn:uuid names the NF instance, is renewed with a DNS name
#   "urn:uuid:..." and without a URI.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cryptography==50.0.2
npm install --silent --no-audit --no-fund --ignore-scripts \
  acme-client@5.4.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >make.py <<'PY'
import datetime
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

key = ec.generate_private_key(ec.SECP256R1())
name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "amf.example.org")])
start = datetime.datetime(2026, 11, 1)
names = [x509.DNSName("amf.example.org"), x509.DirectoryName(name),
         x509.UniformResourceIdentifier("urn:uuid:1a2b3c4d-0000-4000-8000-000000000001"),
         x509.RFC822Name("amf@example.org")]
certificate = (x509.CertificateBuilder().subject_name(name).issuer_name(name)
               .public_key(key.public_key()).serial_number(1)
               .not_valid_before(start).not_valid_after(start + datetime.timedelta(days=365))
               .add_extension(x509.SubjectAlternativeName(names), critical=False)
               .sign(key, hashes.SHA256()))
with open("amf.pem", "wb") as out:
    out.write(certificate.public_bytes(serialization.Encoding.PEM))
PY
cat >run.js <<'JS'
const fs = require("fs");
const { crypto } = require("acme-client");

(async () => {
  const { altNames } = crypto.readCertificateInfo(fs.readFileSync("amf.pem")).domains;
  console.log("read:", altNames.join(", "));
  const [, request] = await crypto.createCsr({ altNames });
  fs.writeFileSync("request.pem", request);
})();
JS
cat >show.py <<'PY'
from cryptography import x509

with open("request.pem", "rb") as file:
    request = x509.load_pem_x509_csr(file.read())
for name in request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value:
    print("asked for:", type(name).__name__, name.value)
PY
seen=$(venv/bin/python make.py && node run.js && venv/bin/python show.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
read: amf.example.org, CN=amf.example.org, urn:uuid:1a2b3c4d-0000-4000-8000-000000000001, amf@example.org
asked for: DNSName amf.example.org
asked for: DNSName CN=amf.example.org
asked for: DNSName urn:uuid:1a2b3c4d-0000-4000-8000-000000000001
asked for: DNSName amf@example.org
SEEN
