#!/usr/bin/env bash
# Packages: djv 2.1.4, jsen 0.6.6, with @cfworker/json-schema 4.1.6 as the validator that does it
#   (Node 20), seen on 2026-11-30.
# Guess: 1 and "1" are two values, objects of an enumeration are equal whatever the order of their
#   members, 0.3 is a multiple of 0.1 (JSON Schema Validation, 6). `2001:db8::1` is an address in
#   IPv6 and urn:uuid:... a URI (7.3).
# Seen: in djv a list of 1 and "1" has no unique items, an object in another order is in no
#   enumeration, 0.3 is no multiple of 0.1, each address in IPv6 is refused, while 256.0.0.1 is
#   an IPv4 address. In jsen a URN is no URI.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts djv@2.1.4 jsen@0.6.6 \
  @cfworker/json-schema@4.1.6 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import Djv from "djv";
import jsen from "jsen";
import { Validator } from "@cfworker/json-schema";

const slice = { sd: "000001", sst: 1 };
for (const [value, schema] of [
  [["1", 1], { uniqueItems: true }],
  [slice, { enum: [{ sst: 1, sd: "000001" }] }],
  [0.3, { multipleOf: 0.1 }],
  ["2001:db8:0:0:0:0:0:1", { format: "ipv6" }],
  ["2001:db8::1", { format: "ipv6" }],
  ["2001:db8::", { format: "ipv6" }],
  ["::ffff:192.0.2.1", { format: "ipv6" }],
  ["256.0.0.1", { format: "ipv4" }],
  ["https://nrf.example.org/", { format: "uri" }],
  ["urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64", { format: "uri" }],
]) {
  const first = new Djv();
  first.addSchema("one", schema);
  console.log(JSON.stringify(value), "djv", !first.validate("one", value),
    "jsen", jsen(schema)(value), "the other", new Validator(schema, "7").validate(value).valid);
}
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
["1",1] djv false jsen true the other true
{"sd":"000001","sst":1} djv false jsen true the other true
0.3 djv false jsen true the other true
"2001:db8:0:0:0:0:0:1" djv false jsen true the other true
"2001:db8::1" djv false jsen true the other true
"2001:db8::" djv false jsen true the other true
"::ffff:192.0.2.1" djv false jsen true the other true
"256.0.0.1" djv true jsen false the other false
"https://nrf.example.org/" djv true jsen true the other true
"urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64" djv true jsen false the other true
SEEN
