#!/usr/bin/env bash
# Package: z-schema 6.0.2, with @cfworker/json-schema 4.1.6 as the validator that does it
#   (Node 20), seen on 2026-11-30.
# Guess: a label of a host name may begin with a digit (RFC 1123, 2.1), as 5gc in each name of
#   TS 23.003, 28.3.2. A leap second is a date-time (RFC 3339, 5.6), 29 February 2026 is no date.
# Seen: 5gc.mnc001.mcc001.3gppnetwork.org and all names below it are no host names. A leap second is
#   no date-time, whereas 2026-02-29 is a date. 19.99 is no multiple of 0.01.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts z-schema@6.0.2 \
  @cfworker/json-schema@4.1.6 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import * as schemas from "z-schema";
import { Validator } from "@cfworker/json-schema";

const ZSchema = schemas.default;
const first = ZSchema.create ? ZSchema.create() : new ZSchema();
const check = (value, schema) => {
  try {
    return first.validate(value, schema);
  } catch (error) {
    return false;
  }
};
for (const [value, schema] of [
  ["nrf.example.org", { type: "string", format: "hostname" }],
  ["nrf.5gc.mnc001.mcc001.3gppnetwork.org", { type: "string", format: "hostname" }],
  ["3gpp.org", { type: "string", format: "hostname" }],
  ["2016-12-31T23:59:59Z", { type: "string", format: "date-time" }],
  ["2016-12-31T23:59:60Z", { type: "string", format: "date-time" }],
  ["2026-02-29", { type: "string", format: "date" }],
  ["2026-02-30", { type: "string", format: "date" }],
  [19.98, { type: "number", multipleOf: 0.01 }],
  [19.99, { type: "number", multipleOf: 0.01 }],
]) {
  const other = new Validator(schema, "7").validate(value).valid;
  console.log(value, check(value, schema), "the other", other);
}
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
nrf.example.org true the other true
nrf.5gc.mnc001.mcc001.3gppnetwork.org false the other true
3gpp.org false the other true
2016-12-31T23:59:59Z true the other true
2016-12-31T23:59:60Z false the other true
2026-02-29 true the other false
2026-02-30 true the other false
19.98 true the other true
19.99 false the other true
SEEN
