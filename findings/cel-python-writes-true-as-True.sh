#!/usr/bin/env bash
# Packages: cel-python 0.5.0 (Python 3.11), and github.com/google/cel-go 0.31.0 (Go 1.26), which
#   Kubernetes has, as the second evaluator; seen on 2026-11-30.
# Guess: string() of CEL returns what a label or annotation has: "true", "2026-11-30T00:00:00.5Z",
#   "0.25s"; an integer and a double are compared by value, whichever stands first.
# Seen: string(true) is "True", so a rule that compares a flag with a label is never met. Fractions
#   of a second are cut from times and durations: 0.25 s is "0s". `1.5 > 1` is true, `1 < 1.5` and
#   `1 == 1.0` end in "no matching overload".
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
python3 -m venv venv
venv/bin/pip install --quiet --no-compile cel-python==0.5.0
cat >rules <<'CEL'
string(true)
string(false) == 'false'
string(duration('250ms'))
string(timestamp('2026-11-30T00:00:00.5Z'))
1.5 > 1
1 < 1.5
1 == 1.0
CEL
cat >go.mod <<'MOD'
module finding

go 1.23

require github.com/google/cel-go v0.31.0
MOD
cat >main.go <<'GO'
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/google/cel-go/cel"
)

func main() {
	env, err := cel.NewEnv(cel.CrossTypeNumericComparisons(true))
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		parsed, issues := env.Parse(lines.Text())
		if issues.Err() != nil {
			panic(issues.Err())
		}
		program, err := env.Program(parsed)
		if err != nil {
			panic(err)
		}
		value, _, err := program.Eval(map[string]any{})
		fmt.Println("cel-go", lines.Text(), "is", value, err)
	}
}
GO
cat >run.py <<'PY'
import celpy

environment = celpy.Environment()
for rule in open("rules").read().splitlines():
    program = environment.program(environment.compile(rule))
    try:
        value = program.evaluate({})
        print("cel-python", rule, "is", bool(value) if type(value) == celpy.celtypes.BoolType else value)
    except celpy.CELEvalError as error:
        print("cel-python", rule, "error:", str(error.args[0]).split(" for ")[0])
PY
seen=$(go run . <rules 2>errors && venv/bin/python run.py)
echo "$seen"
[ "$seen" = "cel-go string(true) is true <nil>
cel-go string(false) == 'false' is true <nil>
cel-go string(duration('250ms')) is 0.25s <nil>
cel-go string(timestamp('2026-11-30T00:00:00.5Z')) is 2026-11-30T00:00:00.5Z <nil>
cel-go 1.5 > 1 is true <nil>
cel-go 1 < 1.5 is true <nil>
cel-go 1 == 1.0 is true <nil>
cel-python string(true) is True
cel-python string(false) == 'false' is False
cel-python string(duration('250ms')) is 0s
cel-python string(timestamp('2026-11-30T00:00:00.5Z')) is 2026-11-30T00:00:00Z
cel-python 1.5 > 1 is True
cel-python 1 < 1.5 error: found no matching overload
cel-python 1 == 1.0 error: found no matching overload" ] || { echo "changed" >&2; exit 1; }
