#!/usr/bin/env bash
# Package: json-patch-gen 1.0.2 (Node 20); generate-json-patch 1.2.9 and fast-json-patch 3.1.1 for
#   comparison; seen on 2026-11-30.
# Guess: of two documents the package makes the JSON Patch (RFC 6902) that turns one into the other,
#   with null as a value like any other. In TS 29.571 and in Kubernetes null and {} mean different
#   things, as an attribute that is removed and one that is there with defaults.
# Seen: null and {} are the same to it, in an object and in an array: the patch is empty and the
#   change is not sent. Between null and an object with members it ends in a TypeError. Null and any
#   other value are told apart. generate-json-patch makes each patch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts json-patch-gen@1.0.2 \
  generate-json-patch@1.2.9 fast-json-patch@3.1.1 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import first from "json-patch-gen";
import { generateJSONPatch } from "generate-json-patch";
import fast from "fast-json-patch";

function result(make, before, after) {
  try {
    const patch = make(structuredClone(before), structuredClone(after));
    const { newDocument } = fast.applyPatch(structuredClone(before), patch);
    const reached = JSON.stringify(newDocument) === JSON.stringify(after);
    return `${patch.length} operations, ${reached ? "as wanted" : "unchanged"}`;
  } catch (error) {
    return error.name;
  }
}
for (const [before, after] of [
  [{ podSelector: null }, { podSelector: {} }],
  [{ podSelector: {} }, { podSelector: null }],
  [{ rules: [null, 1] }, { rules: [{}, 1] }],
  [{ snssai: { sst: 1 } }, { snssai: null }],
  [{ tacs: ["000001"] }, { tacs: null }],
]) {
  console.log(JSON.stringify(before), "to", JSON.stringify(after));
  console.log("  json-patch-gen:", result(first, before, after));
  console.log("  generate-json-patch:", result(generateJSONPatch, before, after));
}
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
{"podSelector":null} to {"podSelector":{}}
  json-patch-gen: 0 operations, unchanged
  generate-json-patch: 1 operations, as wanted
{"podSelector":{}} to {"podSelector":null}
  json-patch-gen: 0 operations, unchanged
  generate-json-patch: 1 operations, as wanted
{"rules":[null,1]} to {"rules":[{},1]}
  json-patch-gen: 0 operations, unchanged
  generate-json-patch: 1 operations, as wanted
{"snssai":{"sst":1}} to {"snssai":null}
  json-patch-gen: TypeError
  generate-json-patch: 1 operations, as wanted
{"tacs":["000001"]} to {"tacs":null}
  json-patch-gen: 1 operations, as wanted
  generate-json-patch: 1 operations, as wanted
SEEN
