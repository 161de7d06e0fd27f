#!/usr/bin/env bash
# Package: openapi-snippet 0.14.0 (npm, Node 20), seen on 2026-11-30.
# Guess: a request that is allowed without a token, as each operation of the SBI is by `security`
#   with `{}` and OAuth 2.0 as alternatives (TS 29.510, OpenAPI 3.0.3, 4.7.30), has a snippet with
#   or without an Authorization header. So does one with an optional parameter of JSON.
# Seen: TypeError for each operation with the alternative `{}`, wherever it stands in the list, and
#   for each operation with a parameter that has `content` instead of `schema`. With a token alone,
#   or with nothing, there is a snippet.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  openapi-snippet@0.14.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { getEndpointSnippets } = require("openapi-snippet");

const token = { nrf: ["nnrf-disc"] };
const type = { name: "target-nf-type", in: "query", schema: { type: "string" }, example: "AMF" };
const slice = { name: "snssais", in: "query", content: { "application/json": {
  schema: { type: "array", items: { type: "object" } } } } };
for (const [name, security, parameters] of [
  ["nothing", undefined, [type]], ["token", [token], [type]],
  ["none or token", [{}, token], [type]], ["token or none", [token, {}], [type]],
  ["JSON", undefined, [type, slice]],
]) {
  const definition = {
    openapi: "3.0.0", info: { title: "NRF", version: "1" }, security,
    servers: [{ url: "https://nrf.example/nnrf-disc/v1" }],
    components: { securitySchemes: { nrf: { type: "oauth2", flows: { clientCredentials: {
      tokenUrl: "https://nrf.example/oauth2/token", scopes: { "nnrf-disc": "discovery" } } } } } },
    paths: { "/nf-instances": { get: { parameters, responses: { 200: { description: "a" } } } } },
  };
  try {
    const [snippet] = getEndpointSnippets(definition, "/nf-instances", "get", ["shell_curl"])
      .snippets;
    console.log(`${name}:`, snippet.content.includes("Authorization") ? "with a token" : "without");
  } catch (error) {
    console.log(`${name}:`, error.name);
  }
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
nothing: without
token: with a token
none or token: TypeError
token or none: TypeError
JSON: TypeError
SEEN
