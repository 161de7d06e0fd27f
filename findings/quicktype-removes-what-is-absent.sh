#!/usr/bin/env bash
# Package: quicktype-core 26.0.0 (Node 20; its output with Go 1.26 and Python 3.11), seen on
#   2026-11-30.
# Guess: a type with NullValue, as each `...Rm` of TS 29.571 is, tells an attribute that is absent
#   from one that is null, or at least leaves out what is absent: in a merge patch null removes the
#   attribute (RFC 7396, 1). Uint64 of TS 29.571, with its maximum of 2^64-1 in the schema, holds
#   such values.
# Seen: Go writes null for an attribute that is absent, so a patch of another attribute removes it;
#   attributes without NullValue are left out. Python reads null and leaves it out: a removal
#   becomes no change. Uint64 is int64 in Go, and a valid volume ends in an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  quicktype-core@26.0.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >make.mjs <<'JS'
import { writeFileSync } from "node:fs";
import { quicktype, InputData, JSONSchemaInput } from "quicktype-core";

const schema = JSON.stringify({ type: "object", properties: {
  priority: { anyOf: [{ type: "integer", maximum: 255 }, { enum: [null] }] },
  volume: { type: "integer", minimum: 0, maximum: 18446744073709551615 },
  name: { type: "string" },
} });
for (const [lang, file, rendererOptions] of [
  ["go", "patch.go", { package: "main" }],
  ["python", "patch.py", { "python-version": "3.7" }],
]) {
  const input = new JSONSchemaInput(undefined);
  await input.addSource({ name: "Patch", schema });
  const inputData = new InputData();
  inputData.addInput(input);
  const { lines } = await quicktype({ inputData, lang, rendererOptions });
  writeFileSync(file, lines.join("\n"));
}
JS
node make.mjs
cat >main.go <<'GO'
package main

import "fmt"

func main() {
	for _, text := range []string{
		`{"name":"a"}`, `{"priority":null}`, `{"volume":18446744073709551615}`,
	} {
		patch, err := UnmarshalPatch([]byte(text))
		if err != nil {
			fmt.Println("Go:", text, "error")
			continue
		}
		octets, _ := patch.Marshal()
		fmt.Println("Go:", text, "became", string(octets))
	}
}
GO
cat >run.py <<'PY'
import json
from patch import patch_from_dict, patch_to_dict

for text in ['{"name":"a"}', '{"priority":null}', '{"volume":18446744073709551615}']:
    answer = patch_to_dict(patch_from_dict(json.loads(text)))
    print("Python:", text, "became", json.dumps(answer, separators=(",", ":")))
PY
go mod init finding >/dev/null 2>&1
seen=$(go run . && python3 run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Go: {"name":"a"} became {"name":"a","priority":null}
Go: {"priority":null} became {"priority":null}
Go: {"volume":18446744073709551615} error
Python: {"name":"a"} became {"name":"a"}
Python: {"priority":null} became {}
Python: {"volume":18446744073709551615} became {"volume":18446744073709551615}
SEEN
