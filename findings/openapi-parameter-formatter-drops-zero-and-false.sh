#!/usr/bin/env bash
# Package: @himenon/openapi-parameter-formatter 2.1.0 (npm, Node 20), seen on 2026-11-30.
# Guess: a query parameter of style form is written as OpenAPI 3.0 says: 0 and false are values, an
#   absent one is left out, and the values of a list that is not exploded are divided by commas,
#   while a comma inside of a value is encoded (RFC 6570, 3.2.8).
# Seen: 0 and false are written as nothing at all, "limit=" and "ssl=", as absent and empty ones are;
#   the text "0" is not. The commas between values are encoded like those inside, so A,B and C are
#   three values or one; objects in a list are "[object Object]".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  @himenon/openapi-parameter-formatter@2.1.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { QueryParameter } = require("@himenon/openapi-parameter-formatter");

for (const [key, value, explode] of [
  ["limit", 10, true], ["limit", 0, true], ["limit", "0", true], ["ssl", true, true],
  ["ssl", false, true], ["absent", undefined, true], ["service-names", [], false],
  ["service-names", ["A,B", "C"], false], ["service-names", ["A,B", "C"], true],
  ["snssais", [{ sst: 1 }], false],
]) {
  const text = QueryParameter.generate(key, { style: "form", explode, value });
  console.log(`${key} ${JSON.stringify(value)}${explode ? "" : ", not exploded"}: ${text}`);
}
JS
seen=$(node run.js 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
limit 10: limit=10
limit 0: limit=
limit "0": limit=0
ssl true: ssl=true
ssl false: ssl=
absent undefined: absent=
service-names [], not exploded: service-names=
service-names ["A,B","C"], not exploded: service-names=A%2CB%2CC
service-names ["A,B","C"]: service-names=A%2CB&service-names=C
snssais [{"sst":1}], not exploded: snssais=%5Bobject+Object%5D
SEEN
