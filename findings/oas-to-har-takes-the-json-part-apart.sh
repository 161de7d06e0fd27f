#!/usr/bin/env bash
# Packages: @readme/oas-to-har 38.5.1 with oas 38.6.0 (npm, Node 20), seen on 2026-11-30.
# Guess: a request of multipart/related, as CreateSMContext has it (TS 29.502: jsonData and
#   binaryDataN1Message), has the two parts in the HAR, and one media type.
# Seen: the JSON of jsonData is taken apart: its members are parts of their own, those of the objects in
#   it too, and there is no part of that name. The header says multipart/related without a boundary,
#   the body multipart/form-data. The types of the parts are left out.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --legacy-peer-deps \
  @readme/oas-to-har@38.5.1 oas@38.6.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import oasToHar from "@readme/oas-to-har";
import Oas from "oas";

const definition = (type) => ({
  openapi: "3.0.0", info: { title: "SMF", version: "1" },
  servers: [{ url: "https://smf.example/nsmf-pdusession/v1" }],
  paths: { "/sm-contexts": { post: { requestBody: { content: { [type]: {
    schema: { type: "object", properties: {
      jsonData: { type: "object" },
      binaryDataN1Message: { type: "string", format: "binary" },
    } },
    encoding: {
      jsonData: { contentType: "application/json" },
      binaryDataN1Message: { contentType: "application/vnd.3gpp.5gnas" },
    },
  } } }, responses: { 201: { description: "made" } } } } },
});
const body = { jsonData: { supi: "imsi-001010000000001", sNssai: { sst: 1 } },
  binaryDataN1Message: "~A" };
for (const type of ["multipart/related", "multipart/form-data"]) {
  const oas = new Oas(definition(type));
  const { log } = oasToHar(oas, oas.operation("/sm-contexts", "post"), { body });
  const { headers, postData } = log.entries[0].request;
  console.log(`${type}: header ${headers.find(({ name }) => name === "content-type")?.value},`,
    `body ${postData.mimeType}`);
  for (const part of postData.params ?? []) console.log("  ", JSON.stringify(part));
}
JS
seen=$(node run.mjs 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
multipart/related: header multipart/related, body multipart/form-data
   {"name":"supi","value":"imsi-001010000000001"}
   {"name":"sst","value":"1"}
   {"name":"binaryDataN1Message","value":"~A"}
multipart/form-data: header multipart/form-data, body multipart/form-data
   {"name":"supi","value":"imsi-001010000000001"}
   {"name":"sst","value":"1"}
   {"name":"binaryDataN1Message","value":"~A"}
SEEN
