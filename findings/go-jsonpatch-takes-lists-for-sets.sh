#!/usr/bin/env bash
# Package: github.com/mattbaird/jsonpatch 2024-01-18 (Go 1.26); gomodules.xyz/jsonpatch/v2 2.5.0
#   is the second library, evanphx/json-patch 5.9.11 applies both; seen on 2026-11-30.
# Guess: CreatePatch makes the operations of RFC 6902 that turn one document into the other. The
#   order of a list is part of it: of the servers or algorithms of a list the first is preferred.
# Seen: where elements come or go, a list is compared as a set: of three elements of which one
#   goes, the others keep their old order, and the preferred one is another. A null of the list
#   stays behind what replaces it. A list of the same length in another order is right, and
#   gomodules, which began as a copy, is right in each of these.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require (
	github.com/evanphx/json-patch/v5 v5.9.11
	github.com/mattbaird/jsonpatch v0.0.0-20240118010651-0ba75a80ca38
	gomodules.xyz/jsonpatch/v2 v2.5.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"

	evanphx "github.com/evanphx/json-patch/v5"
	mattbaird "github.com/mattbaird/jsonpatch"
	gomodules "gomodules.xyz/jsonpatch/v2"
)

func seen(name, from string, patch any, err error) {
	if err != nil {
		panic(err)
	}
	octets, _ := json.Marshal(patch)
	decoded, err := evanphx.DecodePatch(octets)
	if err != nil {
		panic(err)
	}
	result, err := decoded.Apply([]byte(from))
	if err != nil {
		panic(err)
	}
	fmt.Printf("  %s: %s\n", name, result)
	if name == "mattbaird" {
		fmt.Printf("    by %s\n", octets)
	}
}

func main() {
	for _, each := range [][2]string{
		{`{"kem":["x25519","mlkem768"]}`, `{"kem":["mlkem768","x25519"]}`},
		{`{"kem":["x25519","p256","mlkem768"]}`, `{"kem":["mlkem768","x25519"]}`},
		{`{"amf":[{"id":1},{"id":2},{"id":3}]}`, `{"amf":[{"id":3},{"id":1}]}`},
		{`{"sd":["a1",null]}`, `{"sd":["a1","a2"]}`},
	} {
		from, to := []byte(each[0]), []byte(each[1])
		fmt.Println(each[0], "->", each[1])
		first, err := mattbaird.CreatePatch(from, to)
		seen("mattbaird", each[0], first, err)
		second, err := gomodules.CreatePatch(from, to)
		seen("gomodules", each[0], second, err)
	}
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
{"kem":["x25519","mlkem768"]} -> {"kem":["mlkem768","x25519"]}
  mattbaird: {"kem":["mlkem768","x25519"]}
    by [{"op":"replace","path":"/kem/0","value":"mlkem768"},{"op":"replace","path":"/kem/1","value":"x25519"}]
  gomodules: {"kem":["mlkem768","x25519"]}
{"kem":["x25519","p256","mlkem768"]} -> {"kem":["mlkem768","x25519"]}
  mattbaird: {"kem":["x25519","mlkem768"]}
    by [{"op":"remove","path":"/kem/1"}]
  gomodules: {"kem":["mlkem768","x25519"]}
{"amf":[{"id":1},{"id":2},{"id":3}]} -> {"amf":[{"id":3},{"id":1}]}
  mattbaird: {"amf":[{"id":1},{"id":3}]}
    by [{"op":"remove","path":"/amf/1"}]
  gomodules: {"amf":[{"id":3},{"id":1}]}
{"sd":["a1",null]} -> {"sd":["a1","a2"]}
  mattbaird: {"sd":["a1","a2",null]}
    by [{"op":"add","path":"/sd/1","value":"a2"}]
  gomodules: {"sd":["a1","a2"]}
SEEN
