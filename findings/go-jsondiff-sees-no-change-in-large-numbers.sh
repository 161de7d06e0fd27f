#!/usr/bin/env bash
# Packages: github.com/wI2L/jsondiff v0.7.1 and github.com/evanphx/json-patch/v5 v5.9.11 (Go 1.26), seen on
#   2026-11-30.
# Guess: a volume counter (Uint64 of TS 29.571) that went from ...993 to ...992 is a change, and the test
#   of a patch compares numbers: "numbers: are considered equal if their values are numerically
#   equal" (RFC 6902, 4.6), so 1 and 1.0, or 100 and 1e2, are.
# Seen: jsondiff reads numbers as floats of 64 bits: beyond 2^53 neighbours are equal and the patch is
#   empty. json-patch, which Kubernetes uses, compares their text: a test of 1 fails where the document
#   has 1.0, and with it the whole patch. Strings and members are compared by their values.
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
	github.com/wI2L/jsondiff v0.7.1
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/wI2L/jsondiff"
)

func main() {
	for _, pair := range [][2]string{
		{`{"volume":993}`, `{"volume":992}`},
		{`{"volume":9007199254740993}`, `{"volume":9007199254740992}`},
	} {
		patch, err := jsondiff.CompareJSON([]byte(pair[0]), []byte(pair[1]))
		fmt.Printf("%s to %s: [%s] %v\n", pair[0], pair[1], patch, err)
	}
	for _, pair := range [][2]string{
		{`1`, `1`}, {`1.0`, `1`}, {`100`, `1e2`}, {`{"a":1,"b":2}`, `{"b":2,"a":1}`},
		{`"ä"`, `"\u00e4"`},
	} {
		patch, err := jsonpatch.DecodePatch([]byte(`[{"op":"test","path":"/v","value":` + pair[1] +
			`}]`))
		if err != nil {
			panic(err)
		}
		_, err = patch.Apply([]byte(`{"v":` + pair[0] + `}`))
		fmt.Printf("%s is %s: %v\n", pair[0], pair[1], err)
	}
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
{"volume":993} to {"volume":992}: [[{"value":992,"op":"replace","path":"/volume"}]] <nil>
{"volume":9007199254740993} to {"volume":9007199254740992}: [[]] <nil>
1 is 1: <nil>
1.0 is 1: testing value /v failed: test failed
100 is 1e2: testing value /v failed: test failed
{"a":1,"b":2} is {"b":2,"a":1}: <nil>
"ä" is "\u00e4": <nil>
SEEN
