#!/usr/bin/env bash
# Package: structured-headers 2.1.0 (Node 20), with structured-field-values 2.0.4 as the writer that
#   does it; seen on 2026-11-30.
# Guess: a decimal has at most three digits behind its dot, is rounded to the nearest, a tie to the
#   even digit, and has at least one digit behind the dot (RFC 9651, 4.1.5): 1.0005 is `1.0`.
# Seen: 1.0004 is written as `1.` and 0.0000001 as `0.`, which no reader takes, its own neither: a
#   field with one such weight is refused as a whole. A tie is rounded up: 0.0005 is `0.001`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts structured-headers@2.1.0 \
  structured-field-values@2.0.4 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import { parseDictionary, serializeDictionary, serializeItem } from "structured-headers";
import { Item, decodeDict, encodeItem } from "structured-field-values";

for (const value of [0.25, 1.0004, 1.0005, 0.0000001, 0.0005, 0.0025]) {
  console.log(value, serializeItem([value, new Map()]), "the other", encodeItem(new Item(value)));
}
const weights = new Map([["smf1", [0.5, new Map()]], ["smf2", [1.0000001, new Map()]]]);
const field = serializeDictionary(weights);
console.log(field);
for (const [title, read] of [["its own", parseDictionary], ["the other", decodeDict]]) {
  try {
    console.log(title, "reads", read(field));
  } catch (error) {
    console.log(title, "refuses:", error.message);
  }
}
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
0.25 0.25 the other 0.25
1.0004 1. the other 1.0
1.0005 1. the other 1.0
1e-7 0. the other 0.0
0.0005 0.001 the other 0.0
0.0025 0.003 the other 0.002
smf1=0.5, smf2=1.
its own refuses: Parse error: Decimal cannot end on a period at offset 17
the other refuses: failed to parse "smf1=0.5, smf2=1." as Dict
SEEN
