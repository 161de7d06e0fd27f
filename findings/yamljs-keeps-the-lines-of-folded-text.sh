#!/usr/bin/env bash
# Package: yamljs 0.3.0 (Node 20), with yaml 2.9.1 as the reader that does it; seen on 2026-11-30.
# Guess: lines of a plain or quoted scalar are folded with one blank (YAML 1.2.2, 6.5), \u00e9 is
#   the character U+00E9 (5.7), a comment stands behind a blank or a tab (6.6), and a backslash at
#   the end of a line continues the text (7.3.1).
# Seen: folded text keeps its line breaks, \u00e9 is two characters, a comment behind a tab is part
#   of the value: the number 1 becomes a text. A line that is continued ends in an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts yamljs@0.3.0 yaml@2.9.1 \
  >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const first = require("yamljs");
const second = require("yaml");

for (const text of [
  "subject: CN=amf1,\n  O=operator\n", 'text: "one\n  two"\n', 'name: "Caf\\u00e9"\n',
  "replicas: 1\t# of two\n", 'subject: "CN=amf1,\\\n  O=operator"\n',
]) {
  let seen;
  try {
    seen = JSON.stringify(first.parse(text));
  } catch (error) {
    seen = "refused";
  }
  console.log(JSON.stringify(text), "is", seen, "the other", JSON.stringify(second.parse(text)));
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
"subject: CN=amf1,\n  O=operator\n" is {"subject":"CN=amf1,\nO=operator"} the other {"subject":"CN=amf1, O=operator"}
"text: \"one\n  two\"\n" is {"text":"one\ntwo"} the other {"text":"one two"}
"name: \"Caf\\u00e9\"\n" is {"name":"CafÃ©"} the other {"name":"Café"}
"replicas: 1\t# of two\n" is {"replicas":"1\t# of two"} the other {"replicas":1}
"subject: \"CN=amf1,\\\n  O=operator\"\n" is refused the other {"subject":"CN=amf1,O=operator"}
SEEN
