#!/usr/bin/env bash
# Packages: @har-sdk/openapi-sampler 2.4.2, openapi-to-postmanv2 6.3.3, openapi-enforcer 1.23.0
#   (npm, Node 20), seen on 2026-11-30.
# Guess: a profile that needs one of several addresses, as NFProfile of TS 29.510 has it with anyOf
#   and a list of required members in each alternative, keeps the members beside anyOf: both apply
#   to the same value. Samples and requests have the required members; a definition with it is valid
#   (OpenAPI 3.0.3, 4.7.24).
# Seen: @har-sdk/openapi-sampler makes the sample {}; without anyOf it has all members. The body in
#   the Postman collection has one of the addresses and none of the required members.
#   openapi-enforcer refuses the definition: `required` is not allowed there. A schema with oneOf
#   and not is refused too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  @har-sdk/openapi-sampler@2.4.2 openapi-to-postmanv2@6.3.3 openapi-enforcer@1.23.0 \
  >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { sample } = require("@har-sdk/openapi-sampler");
const converter = require("openapi-to-postmanv2");
const Enforcer = require("openapi-enforcer");

const plain = {
  type: "object",
  required: ["nfType", "nfStatus"],
  properties: {
    nfType: { type: "string", enum: ["AMF"] },
    nfStatus: { type: "string", enum: ["REGISTERED"] },
    fqdn: { type: "string", example: "amf1.example" },
    ipv4Addresses: { type: "array", items: { type: "string", example: "192.0.2.1" } },
  },
};
const alternatives = {
  ...plain, anyOf: [{ required: ["fqdn"] }, { required: ["ipv4Addresses"] }],
};
const both = { oneOf: [{ type: "string" }, { type: "integer" }], not: { type: "string" } };

function definition(schema) {
  return {
    openapi: "3.0.0", info: { title: "NRF", version: "1" },
    paths: { "/nf": { put: {
      requestBody: { required: true, content: { "application/json": { schema } } },
      responses: { 204: { description: "done" } },
    } } },
  };
}

function bodyOf(item) {
  return item.item ? bodyOf(item.item[0]) : item.request.body.raw;
}

function collect(schema) {
  return new Promise((resolve) => converter.convertV2(
    { type: "json", data: definition(schema) }, { schemaFaker: true },
    (_, answer) => resolve(bodyOf(answer.output[0].data))));
}
(async () => {
  for (const [name, schema] of Object.entries({ plain, alternatives })) {
    console.log(name);
    console.log("  sampler:", JSON.stringify(sample(schema, {}, {})));
    console.log("  Postman:", Object.keys(JSON.parse(await collect(schema))).join(" "));
  }
  for (const [name, schema] of Object.entries({ plain, alternatives, both })) {
    const [, error] = await Enforcer(definition(schema), { fullResult: true });
    const reason = /[^\n]*(not allowed|Cannot)[^\n]*/.exec(`${error ?? ""}`)?.[0].trim();
    console.log(`Enforcer, ${name}:`, reason ?? "valid");
  }
})();
JS
seen=$(node --no-deprecation run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
plain
  sampler: {"nfType":"AMF","nfStatus":"REGISTERED","fqdn":"amf1.example","ipv4Addresses":["192.0.2.1"]}
  Postman: nfType nfStatus fqdn ipv4Addresses
alternatives
  sampler: {}
  Postman: fqdn
Enforcer, plain: valid
Enforcer, alternatives: Property not allowed: required [EDEV001]
Enforcer, both: Cannot have multiple composites: oneOf, not
SEEN
