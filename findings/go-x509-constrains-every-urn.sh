#!/usr/bin/env bash
# Package: crypto/x509 of Go 1.26.8; cryptography 50.0.2 makes the certificates, openssl is the second
#   verifier (the JDK and pkijs 4.0.0 agree with it); seen on 2026-11-30.
# Guess: a name constraint concerns names of its own form alone (RFC 5280, 4.2.1.10). An NF
#   certificate of TS 33.310, whose SubjectAltName has a URI urn:uuid for the NF instance, is
#   verified under a CA that is constrained to a DNS domain.
# Seen: Go refuses it: "URI with empty host cannot be matched against constraints", for a permitted
#   and for an excluded DNS domain. There is no constraint on URIs. Without the URI, or without the
#   constraint, the chain is verified.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cryptography==50.0.2
cat >make.py <<'PY'
import datetime
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

root, issuer, function = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
day = datetime.datetime(2026, 1, 1)
DOMAIN = "5gc.mnc001.mcc001.3gppnetwork.org"

def name(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

def write(file, by, of, key, subject, *extensions):
    builder = x509.CertificateBuilder(name(by), name(subject), key.public_key(),
        x509.random_serial_number(), day, day.replace(year=2030))
    for extension in extensions:
        builder = builder.add_extension(extension, not isinstance(
            extension, x509.SubjectAlternativeName))
    with open(file, "wb") as out:
        out.write(builder.sign(of, hashes.SHA256()).public_bytes(Encoding.PEM))

ca = x509.BasicConstraints(True, None)
write("root.pem", "root", root, root, "root", ca)
write("free.pem", "root", root, issuer, "issuer", ca)
write("permitted.pem", "root", root, issuer, "issuer", ca,
    x509.NameConstraints([x509.DNSName(DOMAIN)], None))
write("excluded.pem", "root", root, issuer, "issuer", ca,
    x509.NameConstraints(None, [x509.DNSName("example.org")]))
dns = x509.DNSName(f"amf1.{DOMAIN}")
uri = x509.UniformResourceIdentifier("urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64")
for file, names in ("dns.pem", [dns]), ("nf.pem", [dns, uri]):
    write(file, "issuer", issuer, function, "amf1", x509.SubjectAlternativeName(names))
PY
venv/bin/python make.py
cat >main.go <<'GO'
package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
)

func read(file string) *x509.Certificate {
	text, _ := os.ReadFile(file)
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		panic(err)
	}
	return certificate
}

func main() {
	roots := x509.NewCertPool()
	roots.AddCert(read("root.pem"))
	for _, issuer := range []string{"free", "permitted", "excluded"} {
		for _, end := range []string{"dns", "nf"} {
			pool := x509.NewCertPool()
			pool.AddCert(read(issuer + ".pem"))
			_, err := read(end + ".pem").Verify(x509.VerifyOptions{Roots: roots, Intermediates: pool})
			said := "verified"
			if err != nil {
				_, said, _ = strings.Cut(err.Error(), "this name: ")
			}
			fmt.Printf("go: %s, %s: %s\n", issuer, end, said)
		}
	}
}
GO
seen=$(go run main.go
for issuer in permitted excluded; do
  echo "openssl: $issuer, $(openssl verify -CAfile root.pem -untrusted $issuer.pem nf.pem)"
done)
echo "$seen"
refused='URI with empty host ("urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64") cannot be matched'
[ "$seen" = "go: free, dns: verified
go: free, nf: verified
go: permitted, dns: verified
go: permitted, nf: $refused against constraints
go: excluded, dns: verified
go: excluded, nf: $refused against constraints
openssl: permitted, nf.pem: OK
openssl: excluded, nf.pem: OK" ] || { echo "changed" >&2; exit 1; }
