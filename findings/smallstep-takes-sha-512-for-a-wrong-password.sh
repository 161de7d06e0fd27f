#!/usr/bin/env bash
# Package: go.step.sm/crypto 0.92.0 (Go 1.26.8) with openssl 3.0.19 of Debian 12, seen on
#   2026-11-30.
# Guess: pemutil, which step and step-ca read keys with, decrypts what `openssl pkcs8 -topk8` writes
#   with PBES2: the pseudorandom function of PBKDF2 is in the parameters (RFC 8018, A.2), and one
#   that is not supported is an error that names it.
# Seen: HMAC with SHA-1 and SHA-256 are read. SHA-224, SHA-384 and SHA-512 end in "decryption
#   password incorrect" with the right password: the function is not looked at, and another one is
#   used. openssl decrypts all of them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module found

go 1.26

require go.step.sm/crypto v0.92.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"go.step.sm/crypto/pemutil"
)

func main() {
	for _, file := range os.Args[1:] {
		said := "read"
		if _, err := pemutil.Read(file, pemutil.WithPassword([]byte("password"))); err != nil {
			said = err.Error()
		}
		fmt.Printf("step, %s: %s\n", file, said)
	}
}
GO
go mod tidy 2>go.log || { cat go.log; exit 1; }
go build -o found .
openssl ecparam -name prime256v1 -genkey -noout -out key.pem
for hash in SHA1 SHA224 SHA256 SHA384 SHA512; do
  openssl pkcs8 -topk8 -in key.pem -passout pass:password -v2 aes-256-cbc -v2prf hmacWith$hash -out $hash
done
seen=$(./found SHA1 SHA224 SHA256 SHA384 SHA512
for hash in SHA1 SHA224 SHA256 SHA384 SHA512; do
  openssl pkey -in $hash -passin pass:password -noout && echo "openssl, $hash: read"
done)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
step, SHA1: read
step, SHA224: error decrypting SHA224: x509: decryption password incorrect
step, SHA256: read
step, SHA384: error decrypting SHA384: x509: decryption password incorrect
step, SHA512: error decrypting SHA512: x509: decryption password incorrect
openssl, SHA1: read
openssl, SHA224: read
openssl, SHA256: read
openssl, SHA384: read
openssl, SHA512: read
SEEN
