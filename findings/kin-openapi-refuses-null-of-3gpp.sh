#!/usr/bin/env bash
# Package: github.com/getkin/kin-openapi 0.153.0 (Go 1.26), seen on 2026-11-30.
# Guess: null is a value of a type like 3GPP's `...Rm` (TS 29.571: anyOf of the type and NullValue),
#   by which a PATCH removes an attribute. NullValue is `enum: [null]` without a type, and
#   `nullable` only has an effect next to a type (OpenAPI 3.0.3, 4.7.24).
# Seen: "Value is not nullable": of NullValue itself, of the anyOf and of each body with such an
#   attribute. The document is valid for it. A validating proxy refuses removals of the SBI.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"
)

const api = `
openapi: 3.0.0
info: { title: rm, version: 1.0.0 }
paths: {}
components:
  schemas:
    NullValue: { enum: [null] }
    Ambr: { type: object, required: [uplink], properties: { uplink: { type: string } } }
    AmbrRm:
      anyOf: [ { $ref: '#/components/schemas/Ambr' }, { $ref: '#/components/schemas/NullValue' } ]
    Patch: { type: object, properties: { ambr: { $ref: '#/components/schemas/AmbrRm' } } }
`

func main() {
	document, err := openapi3.NewLoader().LoadFromData([]byte(api))
	if err == nil {
		err = document.Validate(context.Background())
	}
	if err != nil {
		panic(err)
	}
	ambr := map[string]any{"uplink": "1 Gbps"}
	for _, one := range []struct {
		schema string
		value  any
	}{{"NullValue", nil}, {"AmbrRm", nil}, {"AmbrRm", ambr}, {"Patch", map[string]any{"ambr": nil}}} {
		err := document.Components.Schemas[one.schema].Value.VisitJSON(one.value)
		fmt.Println(one.schema, one.value, err == nil)
	}
}
GO
go mod init found 2>/dev/null
go get github.com/getkin/kin-openapi/openapi3@v0.153.0 2>/dev/null
found=$(go run .)
echo "$found"
test "$found" = "NullValue <nil> false
AmbrRm <nil> false
AmbrRm map[uplink:1 Gbps] true
Patch map[ambr:<nil>] false"
echo "as stated"
