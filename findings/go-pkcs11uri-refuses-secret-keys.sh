#!/usr/bin/env bash
# Package: github.com/stefanberger/go-pkcs11uri 0.0.0-20230803200340-78284954bff6 (Go 1.26), seen
#   on 2026-11-30.
# Guess: a URI names an object of each of the five types of RFC 7512, 2.3: public, private, cert,
#   secret-key and data. One URI is written alike each time.
# Seen: `type=secret-key` and `type=data` are refused as invalid, when they are read and when they
#   are written: the two share one alternative of a pattern, with a brace for the bar. A key that
#   wraps others or a stored secret cannot be named by its type. Attributes are written in another
#   order from call to call, so URIs cannot be compared or kept as keys.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/stefanberger/go-pkcs11uri v0.0.0-20230803200340-78284954bff6
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	pkcs11uri "github.com/stefanberger/go-pkcs11uri"
)

func main() {
	for _, kind := range []string{"public", "private", "cert", "secret-key", "data"} {
		uri := pkcs11uri.New()
		err := uri.Parse("pkcs11:token=hsm;object=kek;type=" + kind)
		fmt.Printf("type=%s: %v\n", kind, err)
	}
	uri := pkcs11uri.New()
	uri.SetPathAttributeUnencoded("type", []byte("secret-key"))
	_, err := uri.Format()
	fmt.Println("written:", err)
	if err := uri.Parse("pkcs11:token=hsm;object=ca;type=private;id=%01;serial=7"); err != nil {
		panic(err)
	}
	forms := map[string]bool{}
	for range 200 {
		form, err := uri.Format()
		if err != nil {
			panic(err)
		}
		forms[form] = true
	}
	fmt.Println("one URI, written 200 times, is always alike:", len(forms) == 1)
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
type=public: <nil>
type=private: <nil>
type=cert: <nil>
type=secret-key: Invalid type 'secret-key'
type=data: Invalid type 'data'
written: Invalid type 'secret-key'
one URI, written 200 times, is always alike: false
SEEN
