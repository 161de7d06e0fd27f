#!/usr/bin/env bash
# Package: cloudflare/circl 1.6.5 (Go 1.26.8), openssl 3.0.19 of Debian 12 and crypto/x509 as second
#   readers, seen on 2026-11-30.
# Guess: `pki.MarshalPEMPrivateKey` writes PKCS#8 that others read, and reads theirs: PEM with the
#   label PRIVATE KEY (RFC 7468, 10), in it an Ed25519 key as a CurvePrivateKey of 32 octets and an
#   Ed448 key as one of 57 (RFC 8410, 7).
# Seen: the label has the name of the algorithm in front, and 64 and 114 octets are written, the seed
#   with the public key behind it. openssl refuses the file, openssl and crypto/x509 its DER too,
#   and circl theirs: "wrong size for private key". circl reads its own. Of an ML-DSA-65 key the DER
#   is the seed as RFC 9881 has it, under a label of its own as well.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module found

go 1.26

require github.com/cloudflare/circl v1.6.5
MOD
cat >main.go <<'GO'
package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"

	"github.com/cloudflare/circl/pki"
	"github.com/cloudflare/circl/sign/schemes"
)

func said(err error) string {
	if err != nil {
		return err.Error()
	}
	return "read"
}

func main() {
	for _, name := range []string{"Ed25519", "Ed448", "ML-DSA-65"} {
		public, private, err := schemes.ByName(name).GenerateKey()
		if err != nil {
			panic(err)
		}
		written, _ := pki.MarshalPEMPrivateKey(private)
		os.WriteFile(name+".pem", written, 0o600)
		shared, _ := pki.MarshalPEMPublicKey(public)
		os.WriteFile(name+".pub", shared, 0o600)
		block, _ := pem.Decode(written)
		_, err = pki.UnmarshalPEMPrivateKey(written)
		fmt.Printf("circl reads its own %s: %s (%s, %d octets)\n", name, said(err), block.Type, len(block.Bytes))
		if name == "Ed25519" {
			_, err = x509.ParsePKCS8PrivateKey(block.Bytes)
			fmt.Printf("crypto/x509 reads it: %s\n", said(err))
		}
		if name != "ML-DSA-65" {
			file, _ := os.ReadFile(name + ".openssl")
			_, err = pki.UnmarshalPEMPrivateKey(file)
			fmt.Printf("circl reads openssl's %s: %s\n", name, said(err))
		}
	}
}
GO
go mod tidy 2>go.log || { cat go.log; exit 1; }
for name in Ed25519 Ed448; do openssl genpkey -algorithm $name -out $name.openssl; done
seen=$(go run .
for name in Ed25519 Ed448; do
  openssl pkey -in $name.pem -noout 2>&1 | sed -n '1s/^/openssl: /p'
  sed 's/-----BEGIN .* PRIV/-----BEGIN PRIV/; s/-----END .* PRIV/-----END PRIV/' $name.pem >$name.label
  openssl pkey -in $name.label -noout 2>&1 | sed -n '1s/^/openssl: /p'
  openssl pkey -pubin -in $name.pub -noout && echo "openssl reads $name.pub"
done)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
circl reads its own Ed25519: read (Ed25519 PRIVATE KEY, 80 octets)
crypto/x509 reads it: x509: invalid Ed25519 private key length: 64
circl reads openssl's Ed25519: wrong size for private key
circl reads its own Ed448: read (Ed448 PRIVATE KEY, 131 octets)
circl reads openssl's Ed448: wrong size for private key
circl reads its own ML-DSA-65: read (ML-DSA-65 PRIVATE KEY, 54 octets)
openssl: Could not read key from Ed25519.pem
openssl: Could not read key from Ed25519.label
openssl reads Ed25519.pub
openssl: Could not read key from Ed448.pem
openssl: Could not read key from Ed448.label
openssl reads Ed448.pub
SEEN
