#!/usr/bin/env bash
# Package: json-merge-patch 1.0.2 (Node 20), seen on 2026-11-30.
# Guess: `merge(first, second)` returns one merge patch (RFC 7396) with the effect of both, or none
#   when there is no such patch; the order in which an object is removed and written again matters.
# Seen: after a removal, the patch that writes the object again wins, and the removal is forgotten:
#   members of the old object survive. It is the same when the first patch had replaced the object
#   by a value. In an SBI resource or a Kubernetes object, the rest of an old configuration stays.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  json-merge-patch@1.0.2 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { apply, merge } = require("json-merge-patch");
const copy = (value) => JSON.parse(JSON.stringify(value));
const before = { tls: { groups: ["X25519"], fallback: true } };
for (const first of [{ tls: null }, { tls: "off" }, { tls: [] }, { tls: { fallback: null } }]) {
  const second = { tls: { groups: ["X25519MLKEM768"] } };
  const inTurn = apply(apply(copy(before), copy(first)), copy(second));
  const merged = apply(copy(before), merge(copy(first), copy(second)));
  console.log(JSON.stringify(first));
  console.log("  in turn:", JSON.stringify(inTurn.tls));
  console.log("  merged:", JSON.stringify(merged.tls));
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
{"tls":null}
  in turn: {"groups":["X25519MLKEM768"]}
  merged: {"groups":["X25519MLKEM768"],"fallback":true}
{"tls":"off"}
  in turn: {"groups":["X25519MLKEM768"]}
  merged: {"groups":["X25519MLKEM768"],"fallback":true}
{"tls":[]}
  in turn: {"groups":["X25519MLKEM768"]}
  merged: {"groups":["X25519MLKEM768"],"fallback":true}
{"tls":{"fallback":null}}
  in turn: {"groups":["X25519MLKEM768"]}
  merged: {"groups":["X25519MLKEM768"]}
SEEN
