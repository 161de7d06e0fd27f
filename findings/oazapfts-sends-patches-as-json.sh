#!/usr/bin/env bash
# Package: oazapfts 7.5.0 (npm, Node 20), seen on 2026-11-30.
# Guess: a client that is made of a 3GPP definition sends a body with the media type that the
#   definition has for it: `application/merge-patch+json` or `application/json-patch+json` for a
#   PATCH (TS 29.501; RFC 7396, RFC 6902). Another type may be answered with 415 (RFC 5789, 2.2).
# Seen: each body whose media type is a kind of JSON is sent as application/json. Of JSON and
#   multipart/related, which carries NAS messages, JSON is left; the other is left out without a
#   word.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  oazapfts@7.5.0 @oazapfts/runtime@1.2.0 esbuild-wasm@0.25.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >udm.json <<'JSON'
{"openapi": "3.0.0", "info": {"title": "NF", "version": "1"}, "paths": {
  "/subscriptions": {
    "patch": {"operationId": "merge", "requestBody": {"required": true, "content": {
        "application/merge-patch+json": {"schema": {"$ref": "#/components/schemas/Change"}}}},
      "responses": {"204": {"description": "changed"}}},
    "put": {"operationId": "replace", "requestBody": {"required": true, "content": {
        "application/json-patch+json": {"schema": {"type": "array",
          "items": {"$ref": "#/components/schemas/Change"}}}}},
      "responses": {"204": {"description": "changed"}}},
    "post": {"operationId": "create", "requestBody": {"required": true, "content": {
        "application/json": {"schema": {"$ref": "#/components/schemas/Change"}},
        "multipart/related": {"schema": {"type": "object", "properties": {
          "jsonData": {"$ref": "#/components/schemas/Change"},
          "binaryDataN1": {"type": "string", "format": "binary"}}}}}},
      "responses": {"201": {"description": "created"}}}}},
 "components": {"schemas": {
  "Change": {"type": "object", "properties": {"priority": {"type": "integer"}}}}}}
JSON
node node_modules/oazapfts/dist/cli.js udm.json client.ts >oazapfts.log 2>&1 ||
  { cat oazapfts.log; exit 1; }
node node_modules/esbuild-wasm/bin/esbuild client.ts --bundle --format=esm --platform=node \
  --outfile=client.mjs --log-level=error
cat >run.mjs <<'JS'
import { create, defaults, merge, replace } from "./client.mjs";

defaults.baseUrl = "http://127.0.0.1";
defaults.fetch = async (_, { method, headers, body }) => {
  console.log(method, new Headers(headers).get("content-type"), body);
  return new Response(null, { status: 204 });
};
await merge({ priority: 1 });
await replace([{ priority: 1 }]);
await create({ priority: 1 });
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
PATCH application/json {"priority":1}
PUT application/json [{"priority":1}]
POST application/json {"priority":1}
SEEN
