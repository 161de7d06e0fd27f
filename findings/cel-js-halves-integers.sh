#!/usr/bin/env bash
# Packages: cel-js 0.8.2 (Node 20), and github.com/google/cel-go 0.31.0 (Go 1.26), which Kubernetes
#   has, as the second evaluator; seen on 2026-11-30.
# Guess: cel-js evaluates the operators, literals and escapes of a validation rule of Kubernetes as
#   CEL has them, and refuses what it does not support (functions and methods such as `matches`, as
#   it does).
# Seen: a division of integers has a fraction (3 / 2 is 1.5; CEL: 1), so a quorum is another; a sum
#   beyond 64 bits is a rounded number (CEL: an error); of an escape the text stays as it stands, so
#   "\x41" is not "A". The rules parse, and the verdict differs.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >rules.json <<'JSON'
["self.replicas / 2", "self.ready >= self.replicas / 2", "-7 / 2", "9223372036854775807 + 1",
 "'\\x41' == 'A'", "self.name == 'a\\u002db'"]
JSON
cat >go.mod <<'MOD'
module finding

go 1.23

require github.com/google/cel-go v0.31.0
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/cel-go/cel"
)

func main() {
	text, _ := os.ReadFile("rules.json")
	var rules []string
	if err := json.Unmarshal(text, &rules); err != nil {
		panic(err)
	}
	env, err := cel.NewEnv(cel.Variable("self", cel.DynType))
	if err != nil {
		panic(err)
	}
	self := map[string]any{"replicas": 3, "ready": 1, "name": "a-b"}
	for _, rule := range rules {
		parsed, issues := env.Parse(rule)
		if issues.Err() != nil {
			panic(issues.Err())
		}
		program, err := env.Program(parsed)
		if err != nil {
			panic(err)
		}
		value, _, err := program.Eval(map[string]any{"self": self})
		if err != nil {
			fmt.Println("cel-go", rule, "error")
			continue
		}
		fmt.Println("cel-go", rule, "is", value.Value())
	}
}
GO
cat >run.mjs <<'JS'
import { readFileSync } from "node:fs";
import { evaluate } from "cel-js";
for (const rule of JSON.parse(readFileSync("rules.json")))
  console.log("cel-js", rule, "is", evaluate(rule, { self: { replicas: 3, ready: 1, name: "a-b" } }));
JS
npm install --silent --no-audit --no-fund cel-js@0.8.2 >/dev/null
seen=$(go run . 2>errors && node run.mjs)
echo "$seen"
[ "$seen" = 'cel-go self.replicas / 2 is 1
cel-go self.ready >= self.replicas / 2 is true
cel-go -7 / 2 is -3
cel-go 9223372036854775807 + 1 error
cel-go '"'\x41' == 'A'"' is true
cel-go self.name == '"'a\u002db'"' is true
cel-js self.replicas / 2 is 1.5
cel-js self.ready >= self.replicas / 2 is false
cel-js -7 / 2 is -3.5
cel-js 9223372036854775807 + 1 is 9223372036854776000
cel-js '"'\x41' == 'A'"' is false
cel-js self.name == '"'a\u002db'"' is false' ] || { echo "changed" >&2; exit 1; }
