#!/usr/bin/env bash
# Packages: openapi-generator-cli 7.26.0 (generators python and go, Java 17), openapi-zod-client
#   1.18.3 with zod 3.25.76 (Node 20); seen on 2026-11-30.
# Guess: `type: string` with an `allOf` of patterns, as TS 29.571 has for Ipv6Addr and Ipv6Prefix,
#   becomes a string; of the patterns one or both may be lost.
# Seen: openapi-generator makes an object without members: a valid answer with an address is refused
#   as a whole, in Python and in Go. openapi-zod-client makes `z.unknown()`, which takes a number
#   too (oapi-codegen 2.8.2, whose code was read and not run: `interface{}`). A string with one
#   pattern is a string in all of them.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
python3 -m venv venv
venv/bin/pip install --quiet --no-compile openapi-generator-cli==7.26.0 urllib3==2.5.0 \
  pydantic==2.12.5 python-dateutil==2.9.0
npm install --silent --no-save --prefix "$folder" openapi-zod-client@1.18.3 zod@3.25.76
cat >nf.yaml <<'YAML'
openapi: 3.0.0
info: {title: profile, version: 1.0.0}
paths:
  /nf:
    get:
      operationId: get
      responses:
        '200':
          description: found
          content: {application/json: {schema: {$ref: '#/components/schemas/Profile'}}}
components:
  schemas:
    Profile:
      type: object
      properties:
        one: {$ref: '#/components/schemas/Ipv4Addr'}
        two: {$ref: '#/components/schemas/Ipv6Addr'}
    Ipv4Addr: {type: string, pattern: '^[0-9.]+$'}
    Ipv6Addr:
      type: string
      allOf:
        - pattern: '^(:|[0-9a-f]{1,4}:)([0-9a-f]{0,4}:){0,6}(:|[0-9a-f]{0,4})$'
        - pattern: '^((([^:]+:){7}([^:]+))|((([^:]+:)*[^:]+)?::(([^:]+:)*[^:]+)?))$'
YAML
for language in python go; do
  venv/bin/openapi-generator-cli generate -i nf.yaml -g $language -o $language \
    --additional-properties=packageName=nf >"$language.log" 2>&1 || { cat "$language.log"; exit 1; }
done
cat >run.py <<'PY'
import sys

sys.path.insert(0, "python")
import nf

print("python:", nf.Profile.from_json('{"one": "192.0.2.1"}').to_dict())
try:
    print("python:", nf.Profile.from_json('{"two": "2001:db8::1"}').to_dict())
except ValueError as error:
    print("python:", str(error).splitlines()[1].split(" [")[0].strip())
PY
cat >go/found_test.go <<'GO'
package nf

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestRead(t *testing.T) {
	for _, text := range []string{`{"one": "192.0.2.1"}`, `{"two": "2001:db8::1"}`} {
		err := json.Unmarshal([]byte(text), new(Profile))
		fmt.Println("go:", err)
	}
}
GO
cat >zod.mjs <<'JS'
import { schemas } from './made.mjs';
for (const value of [{ one: 1 }, { two: 1 }])
  console.log('zod:', JSON.stringify(value), schemas.Profile.safeParse(value).success);
JS
found() {
  venv/bin/python run.py
  (cd go && go test -vet=off -v -run TestRead . 2>/dev/null) | grep "^go:"
  node_modules/.bin/openapi-zod-client nf.yaml -o made.ts --export-schemas >/dev/null
  sed -e '/zodios/d' -e '/^const endpoints/,$d' made.ts >made.mjs
  node zod.mjs
}
seen=$(found)
echo "$seen"
[ "$seen" = "python: {'one': '192.0.2.1'}
python: Input should be a valid dictionary or instance of Ipv6Addr
go: <nil>
go: json: cannot unmarshal string into Go struct field Profile.two of type nf.Ipv6Addr
zod: {\"one\":1} false
zod: {\"two\":1} true" ] || { echo "changed" >&2; exit 1; }
