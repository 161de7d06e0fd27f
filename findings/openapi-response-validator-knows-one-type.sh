#!/usr/bin/env bash
# Package: openapi-response-validator 12.1.3 (npm, Node 20), seen on 2026-11-30.
# Guess: a response that may have several media types, as JSON and multipart/related stand beside
#   each other on the SBI (TS 29.502), is valid if the schema of one of them takes it (OpenAPI
#   3.0.3, 4.7.17). So is an error with ProblemDetails or something else.
# Seen: the schema of the first media type alone is used. ProblemDetails is refused where another
#   type stands before it, and taken where it is the first: the order of keys decides.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  openapi-response-validator@12.1.3 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const Validator = require("openapi-response-validator").default;

const schemas = {
  "application/json": { type: "object", required: ["error"] },
  "application/problem+json": { type: "object", required: ["status"] },
};
const bodies = { error: { error: { status: 403 } }, problem: { status: 403, cause: "DENIED" } };
for (const types of [Object.keys(schemas), Object.keys(schemas).reverse()]) {
  const content = Object.fromEntries(types.map((type) => [type, { schema: schemas[type] }]));
  const validator = new Validator({ responses: { 403: { description: "denied", content } } });
  console.log(types.join(", "));
  for (const [name, body] of Object.entries(bodies))
    console.log(`  ${name}:`, validator.validateResponse(403, body)?.errors[0].message ?? "valid");
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
application/json, application/problem+json
  error: valid
  problem: must have required property 'error'
application/problem+json, application/json
  error: must have required property 'status'
  problem: valid
SEEN
