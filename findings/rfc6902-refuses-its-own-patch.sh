#!/usr/bin/env bash
# Package: rfc6902 5.4.0 (npm, Node 20), seen on 2026-11-30.
# Guess: a patch that createPatch makes of two documents is one that applyPatch applies, and the path
#   "" is the whole document (RFC 6901, 5, and RFC 6902, 4.1: "The root of the target document -
#   whereupon the specified value becomes the entire content").
# Seen: a patch of two documents that differ in kind - a list that became an object, an object that
#   became null - is a replace of "", and applying it is a MissingError. So is an add of "" by another
#   writer. The document is left as it was; a caller who does not look at the list of results sees no
#   error. Test and copy of "" are applied.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts rfc6902@5.4.0 jsonpatch@3.1.0 \
  >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { applyPatch, createPatch } = require("rfc6902");
const jsonpatch = require("jsonpatch");

function show(title, document, patch) {
  const results = applyPatch(document, patch).map((error) => (error ? error.name : "applied"));
  console.log(`${title}: ${JSON.stringify(patch)}`);
  console.log(`  rfc6902: ${results}, the document is ${JSON.stringify(document)}`);
}

for (const [before, after] of [
  [[{ sst: 1 }], {}], [{ sst: 1 }, null], [{ sst: 1 }, { sst: 2 }],
]) {
  const patch = createPatch(before, after);
  show("its own", structuredClone(before), patch);
  console.log("  jsonpatch:", JSON.stringify(jsonpatch.apply_patch(before, patch)));
}
show("another's", { sst: 1 }, [{ op: "add", path: "", value: { sst: 2 } }]);
show("test", { sst: 1 }, [{ op: "test", path: "", value: { sst: 1 } }]);
show("copy", { sst: 1 }, [{ op: "copy", from: "", path: "/mapped" }]);
JS
seen=$(node run.js 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
its own: [{"op":"replace","path":"","value":{}}]
  rfc6902: MissingError, the document is [{"sst":1}]
  jsonpatch: {}
its own: [{"op":"replace","path":"","value":null}]
  rfc6902: MissingError, the document is {"sst":1}
  jsonpatch: null
its own: [{"op":"replace","path":"/sst","value":2}]
  rfc6902: applied, the document is {"sst":2}
  jsonpatch: {"sst":2}
another's: [{"op":"add","path":"","value":{"sst":2}}]
  rfc6902: MissingError, the document is {"sst":1}
test: [{"op":"test","path":"","value":{"sst":1}}]
  rfc6902: applied, the document is {"sst":1}
copy: [{"op":"copy","from":"","path":"/mapped"}]
  rfc6902: applied, the document is {"sst":1,"mapped":{"sst":1}}
SEEN
