#!/usr/bin/env bash
# Package: immutable-json-patch 6.0.3 (Node 20), seen on 2026-11-30.
# Guess: a JSON Patch, by which SBI resources and Kubernetes objects are changed, is applied as RFC
#   6902 has it: `replace` and `remove` fail when their target does not exist (4.2, 4.3), `add` when
#   an index is beyond the end (4.1), and `test` compares objects whatever the order of their
#   members (4.6).
# Seen: `replace` and `remove` of a missing member do nothing, and the patch succeeds: a replaced
#   status is lost without an error. `add` at index 5 appends to an array of one. `test` fails when
#   the members stand in another order, which no sender can know. rfc6902 5.4.0 does each of them
#   right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  immutable-json-patch@6.0.3 rfc6902@5.4.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import { immutableJSONPatch } from "immutable-json-patch";
import { applyPatch } from "rfc6902";

const profile = { plmn: { mcc: "001", mnc: "01" }, addresses: ["192.0.2.1"] };
for (const operation of [
  { op: "replace", path: "/load", value: 50 },
  { op: "remove", path: "/load" },
  { op: "add", path: "/addresses/5", value: "192.0.2.2" },
  { op: "test", path: "/plmn", value: { mnc: "01", mcc: "001" } },
]) {
  let result;
  try {
    result = JSON.stringify(immutableJSONPatch(profile, [operation]));
  } catch (error) {
    result = error.message;
  }
  const [other] = applyPatch(structuredClone(profile), [operation]);
  console.log(operation.op, operation.path);
  console.log("  immutable-json-patch:", result);
  console.log("  rfc6902:", other === null ? "done" : other.name);
}
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
replace /load
  immutable-json-patch: {"plmn":{"mcc":"001","mnc":"01"},"addresses":["192.0.2.1"]}
  rfc6902: MissingError
remove /load
  immutable-json-patch: {"plmn":{"mcc":"001","mnc":"01"},"addresses":["192.0.2.1"]}
  rfc6902: MissingError
add /addresses/5
  immutable-json-patch: {"plmn":{"mcc":"001","mnc":"01"},"addresses":["192.0.2.1","192.0.2.2"]}
  rfc6902: MissingError
test /plmn
  immutable-json-patch: Test failed, value differs (path: "/plmn")
  rfc6902: done
SEEN
