#!/usr/bin/env bash
# Package: sshpk 1.18.0 (Node 20); cryptography 50.0.2 makes the certificates (Python 3.11), openssl
#   reads the key; seen on 2026-11-30.
# Guess: the subjects of a certificate are its subject, with each attribute, and the names of its
#   SubjectAltName, each with its kind. validFrom is the time of the certificate. PKCS#8 that it
#   writes is one that openssl reads.
# Seen: of two attributes in one RDN (CN + serialNumber) the second in the encoding is lost; it is
#   the common name. A directory name of the SubjectAltName whose CN is "ops" is a host "ops"; IP
#   addresses and URIs are left out. The milliseconds of the current time are added to validFrom and
#   validUntil. An Ed25519 key is written as version 2 of PKCS#8 with its public
#   key behind it (valid by RFC 8410, 7), which openssl 3.0 and cryptography refuse.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cryptography==50.0.2
npm install --silent --no-audit --no-fund --ignore-scripts sshpk@1.18.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >make.py <<'PY'
import datetime
import ipaddress
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

key = ec.generate_private_key(ec.SECP256R1())
oid = x509.NameOID

def name(*sets):
    return x509.Name([x509.RelativeDistinguishedName(
        [x509.NameAttribute(kind, text) for kind, text in one]) for one in sets])

subject = name([(oid.ORGANIZATION_NAME, "core")], [(oid.COMMON_NAME, "amf1"), (oid.SERIAL_NUMBER, "7")])
names = [x509.DNSName("amf1.example.org"), x509.IPAddress(ipaddress.ip_address("2001:db8::1")),
    x509.UniformResourceIdentifier("urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64"),
    x509.DirectoryName(name([(oid.COMMON_NAME, "ops")]))]
certificate = x509.CertificateBuilder(subject, subject, key.public_key(), 5,
    datetime.datetime(2026, 1, 1), datetime.datetime(2030, 1, 1)).add_extension(
    x509.SubjectAlternativeName(names), False).sign(key, hashes.SHA256())
with open("amf1.pem", "wb") as out:
    out.write(certificate.public_bytes(Encoding.PEM))
with open("ed.pem", "wb") as out:
    out.write(ed25519.Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
PY
venv/bin/python make.py
cat >run.js <<'JS'
const fs = require("fs");
const sshpk = require("sshpk");

const certificate = sshpk.parseCertificate(fs.readFileSync("amf1.pem", "utf8"), "pem");
for (const one of certificate.subjects) {
  console.log(`${one.type}: ${one.toString()}`);
}
const times = new Set();
for (let round = 0; round < 5; round += 1) {
  const one = sshpk.parseCertificate(fs.readFileSync("amf1.pem", "utf8"), "pem");
  times.add(one.validFrom.getTime());
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 7);
}
console.log("validFrom of one certificate:", times.size > 1 ? "several" : "one");
const key = sshpk.parsePrivateKey(fs.readFileSync("ed.pem", "utf8"), "pem");
fs.writeFileSync("written.pem", key.toString("pkcs8"));
JS
seen=$(node run.js
for file in ed written; do
  openssl pkey -in $file.pem -noout 2>&1 | sed -n '1s/^/openssl: /p'
done
venv/bin/python - <<'PY'
from cryptography.hazmat.primitives.serialization import load_pem_private_key
for file in "ed", "written":
    try:
        load_pem_private_key(open(f"{file}.pem", "rb").read(), None)
        print(f"cryptography, {file}: read")
    except ValueError as error:
        print(f"cryptography, {file}:", str(error).split(".")[0])
PY
)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
unknown: O=core, SERIALNUMBER=7
host: CN=amf1.example.org
host: CN=ops
validFrom of one certificate: several
openssl: Could not read key from written.pem
cryptography, ed: read
cryptography, written: Could not deserialize key data
SEEN
