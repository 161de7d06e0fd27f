#!/usr/bin/env bash
# Packages: another-json 0.2.0, json-canon 1.0.1, canonical-json 0.4.0, with canonicalize 4.0.0
#   as the writer that does it (Node 20), seen on 2026-11-30.
# Guess: canonical JSON is JSON: a control character is \u001f with a small u, members are sorted by
#   their code units whatever they look like, and a member that is undefined in JavaScript is left
#   out, as JSON.stringify does (RFC 8785, 3.2).
# Seen: another-json writes \U001F, which JSON does not have: what is signed cannot be read.
#   json-canon writes `{,"b":1}` when the first member is undefined. canonical-json puts 9 in front
#   of 10, by number: the octets that are signed differ from those of the others.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts another-json@0.2.0 json-canon@1.0.1 \
  canonical-json@0.4.0 canonicalize@4.0.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import another from "another-json";
import canon from "json-canon";
import canonical from "canonical-json";
import * as other from "canonicalize";

const writers = { "another-json": another.stringify, "json-canon": canon.serialize ?? canon,
  "canonical-json": canonical, canonicalize: other.canonicalize ?? other.default };
const show = (action) => {
  try {
    return action();
  } catch (error) {
    return error.name;
  }
};
for (const value of [{ text: "\u001f" }, { 10: 1, 9: 2 }, { a: undefined, b: 1 }]) {
  for (const [name, write] of Object.entries(writers)) {
    const text = show(() => write(value));
    console.log(name, text, "read as", show(() => JSON.stringify(JSON.parse(text))));
  }
}
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
another-json {"text":"\U001F"} read as SyntaxError
json-canon {"text":"\u001f"} read as {"text":"\u001f"}
canonical-json {"text":"\u001f"} read as {"text":"\u001f"}
canonicalize {"text":"\u001f"} read as {"text":"\u001f"}
another-json {"10":1,"9":2} read as {"9":2,"10":1}
json-canon {"10":1,"9":2} read as {"9":2,"10":1}
canonical-json {"9":2,"10":1} read as {"9":2,"10":1}
canonicalize {"10":1,"9":2} read as {"9":2,"10":1}
another-json Error read as SyntaxError
json-canon {,"b":1} read as SyntaxError
canonical-json {"b":1} read as {"b":1}
canonicalize {"b":1} read as {"b":1}
SEEN
