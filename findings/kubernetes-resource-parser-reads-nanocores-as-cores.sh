#!/usr/bin/env bash
# Package: kubernetes-resource-parser 0.1.0, k8s-resource-parser 0.2.2 (Node 20), seen on
#   2026-11-30.
# Guess: quantities of Kubernetes are read as the API writes them: a decimal number and a suffix
#   from n (the metrics API answers in nanocores) to E or Ki to Ei, or an exponent. A quantity that
#   a parser does not know is an error.
# Seen: kubernetes-resource-parser knows one suffix for processors, m, and takes any other for none:
#   a quarter of a core from the metrics API is 250 million cores. A memory quantity with a fraction
#   is cut at the point and loses its suffix: 1.5Gi is one byte, and so is 1e9. A memory quantity in
#   m, as the API server writes fractions of a byte, is NaN. k8s-resource-parser reads these four; n
#   and u are errors there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  kubernetes-resource-parser@0.1.0 k8s-resource-parser@0.2.2 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const first = require("kubernetes-resource-parser");
const second = require("k8s-resource-parser");

function show(parser, kind, text) {
  try {
    return parser[kind](text);
  } catch (error) {
    return error.name;
  }
}
for (const [kind, text] of [
  ["cpuParser", "250m"], ["cpuParser", "250000000n"], ["cpuParser", "1500u"],
  ["memoryParser", "512Mi"], ["memoryParser", "1.5Gi"], ["memoryParser", "0.5Gi"],
  ["memoryParser", "1e9"], ["memoryParser", "2500m"],
]) {
  console.log(kind, text, "=", show(first, kind, text), "and", show(second, kind, text));
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
cpuParser 250m = 0.25 and 0.25
cpuParser 250000000n = 250000000 and SyntaxError
cpuParser 1500u = 1500 and SyntaxError
memoryParser 512Mi = 536870912 and 536870912
memoryParser 1.5Gi = 1 and 1610612736
memoryParser 0.5Gi = 0 and 536870912
memoryParser 1e9 = 1 and 1000000000
memoryParser 2500m = NaN and 2.5
SEEN
