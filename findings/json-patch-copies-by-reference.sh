#!/usr/bin/env bash
# Package: json-patch 0.7.0 (npm, Node 20), seen on 2026-11-30.
# Guess: copy adds a value of its own at the target, and move and copy onto a member that exists
#   replace it, as add does (RFC 6902, 4.1, 4.4 and 4.5).
# Seen: the copy and its source are one object: a slice that is copied and then changed in the same
#   patch is changed in both places. Move and copy onto a member that exists end in "Value at ...
#   exists", so the patch is refused; add replaces it. Other readers of RFC 6902 do as guessed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts json-patch@0.7.0 jsonpatch@3.1.0 \
  rfc6902@5.4.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const readers = {
  "json-patch": (document, patch) => require("json-patch").apply(document, patch),
  jsonpatch: (document, patch) => require("jsonpatch").apply_patch(document, patch),
  rfc6902: (document, patch) => {
    const failed = require("rfc6902").applyPatch(document, patch).find(Boolean);
    if (failed) throw failed;
    return document;
  },
};
const cases = [
  ["copied and changed", { allowed: { sst: 1, sd: "000001" } }, [
    { op: "copy", from: "/allowed", path: "/default" },
    { op: "replace", path: "/default/sd", value: "000002" },
  ]],
  ["moved onto a member", { old: 1, now: 2 }, [{ op: "move", from: "/old", path: "/now" }]],
  ["copied onto a member", { old: 1, now: 2 }, [{ op: "copy", from: "/old", path: "/now" }]],
  ["added onto a member", { old: 1, now: 2 }, [{ op: "add", path: "/now", value: 3 }]],
];
for (const [title, document, patch] of cases) {
  console.log(title);
  for (const [name, apply] of Object.entries(readers)) {
    let result;
    try {
      result = JSON.stringify(apply(structuredClone(document), structuredClone(patch)));
    } catch (error) {
      result = `${error.name}: ${error.message}`;
    }
    console.log(`  ${name}: ${result}`);
  }
}
JS
seen=$(node run.js 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
copied and changed
  json-patch: {"allowed":{"sst":1,"sd":"000002"},"default":{"sst":1,"sd":"000002"}}
  jsonpatch: {"allowed":{"sst":1,"sd":"000001"},"default":{"sst":1,"sd":"000002"}}
  rfc6902: {"allowed":{"sst":1,"sd":"000001"},"default":{"sst":1,"sd":"000002"}}
moved onto a member
  json-patch: PatchConflictError: Value at now exists
  jsonpatch: {"now":1}
  rfc6902: {"now":1}
copied onto a member
  json-patch: PatchConflictError: Value at now exists
  jsonpatch: {"old":1,"now":1}
  rfc6902: {"old":1,"now":1}
added onto a member
  json-patch: {"old":1,"now":3}
  jsonpatch: {"old":1,"now":3}
  rfc6902: {"old":1,"now":3}
SEEN
