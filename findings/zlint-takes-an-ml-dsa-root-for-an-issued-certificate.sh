#!/usr/bin/env bash
# Package: zmap/zlint 3.7.3 (Go 1.26.8); cryptography 50.0.2 makes the certificates (Python 3.11);
#   seen on 2026-11-30.
# Guess: a self-signed root without authority key identifier has no error: "there is one exception;
#   where a CA distributes its public key in the form of a 'self-signed' certificate" (RFC 5280,
#   4.2.1.1), whatever its key is.
# Seen: with P-256 there is none. With ML-DSA-65 the lint of the key identifier is an error: the
#   parser calls a certificate self-signed when it has verified the signature, and knows no ML-DSA.
#   The same for Ed448. A root for post-quantum links does not pass the gate that a classical one
#   passes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-mod=mod
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cryptography==50.0.2
cat >make.py <<'PY'
import datetime
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, mldsa
from cryptography.hazmat.primitives.serialization import Encoding

name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "root")])
for kind, key in (("P-256", ec.generate_private_key(ec.SECP256R1())),
        ("Ed25519", ed25519.Ed25519PrivateKey.generate()),
        ("Ed448", ed448.Ed448PrivateKey.generate()),
        ("ML-DSA-65", mldsa.MLDSA65PrivateKey.generate())):
    builder = x509.CertificateBuilder(name, name, key.public_key(), 0x7766554433221100AABB,
        datetime.datetime(2026, 1, 1), datetime.datetime(2036, 1, 1))
    usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    for extension, critical in ((x509.BasicConstraints(True, None), True), (usage, True),
            (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)):
        builder = builder.add_extension(extension, critical)
    root = builder.sign(key, hashes.SHA256() if kind == "P-256" else None)
    root.verify_directly_issued_by(root)
    with open(kind + ".pem", "wb") as out:
        out.write(root.public_bytes(Encoding.PEM))
PY
venv/bin/python make.py
cat >go.mod <<'MOD'
module found

go 1.26

require github.com/zmap/zlint/v3 v3.7.3
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/pem"
	"fmt"
	"os"
	"slices"

	"github.com/zmap/zcrypto/x509"
	"github.com/zmap/zlint/v3"
	"github.com/zmap/zlint/v3/lint"
)

func main() {
	registry, err := lint.GlobalRegistry().Filter(
		lint.FilterOptions{IncludeSources: lint.SourceList{lint.RFC5280}})
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"P-256", "Ed25519", "Ed448", "ML-DSA-65"} {
		text, _ := os.ReadFile(name + ".pem")
		block, _ := pem.Decode(text)
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			panic(err)
		}
		errors := []string{}
		for lint, result := range zlint.LintCertificateEx(certificate, registry).Results {
			if result.Status.String() == "error" {
				errors = append(errors, lint)
			}
		}
		slices.Sort(errors)
		fmt.Printf("%s: self-signed %v, errors %v\n", name, certificate.SelfSigned, errors)
	}
}
GO
go mod tidy 2>go.log || { cat go.log; exit 1; }
seen=$(go run .)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
P-256: self-signed true, errors []
Ed25519: self-signed true, errors []
Ed448: self-signed false, errors [e_ext_authority_key_identifier_no_key_identifier]
ML-DSA-65: self-signed false, errors [e_ext_authority_key_identifier_no_key_identifier]
SEEN
