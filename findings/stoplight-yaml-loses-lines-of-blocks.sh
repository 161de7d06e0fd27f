#!/usr/bin/env bash
# Packages: @stoplight/yaml 4.3.0, json-to-pretty-yaml 1.2.2, with yaml 2.9.1 as the reader
#   that does it (Node 20), seen on 2026-11-30.
# Guess: `|+` keeps the empty lines at the end of a block and `|2` says how far it is indented
#   (YAML 1.2.2, 8.1.1). What a writer writes is read as the same: a text that looks like a number
#   has quotes, and a name with a colon and a blank too.
# Seen: @stoplight/yaml drops the line that `|+` keeps, and puts one in front of a block with `|2`.
#   It writes the text 0o17 without quotes, although it reads it as the number 15.
#   json-to-pretty-yaml writes no name in quotes: a member `a: b` makes the file unreadable, and a
#   member `#1` is a comment.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @stoplight/yaml@4.3.0 \
  json-to-pretty-yaml@1.2.2 yaml@2.9.1 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const first = require("@stoplight/yaml");
const pretty = require("json-to-pretty-yaml");
const { parse } = require("yaml");

const show = (action) => {
  try {
    return JSON.stringify(action());
  } catch (error) {
    return "refused";
  }
};
for (const text of ["k: |+\n  a\n\nl: 1\n", "k: |2\n    a\n  b\n", "k: 0o17\n"]) {
  console.log(JSON.stringify(text), "is", show(() => first.parse(text)), "the other",
    show(() => parse(text)));
}
const octal = first.safeStringify({ sd: "0o17" });
console.log("stoplight writes", JSON.stringify(octal), "and reads", show(() => first.parse(octal)));
for (const value of [{ "a: b": 1 }, { "#1": 1, b: 2 }, { "": 1 }, { "a b": 1 }]) {
  const text = pretty.stringify(value);
  console.log("pretty writes", JSON.stringify(value), "as", JSON.stringify(text), "read as",
    show(() => parse(text)));
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
"k: |+\n  a\n\nl: 1\n" is {"k":"a\n","l":1} the other {"k":"a\n\n","l":1}
"k: |2\n    a\n  b\n" is {"k":"\n  a\nb\n"} the other {"k":"  a\nb\n"}
"k: 0o17\n" is {"k":15} the other {"k":15}
stoplight writes "sd: 0o17\n" and reads {"sd":15}
pretty writes {"a: b":1} as "a: b: 1\n" read as refused
pretty writes {"#1":1,"b":2} as "#1: 1\nb: 2\n" read as {"b":2}
pretty writes {"":1} as ": 1\n" read as {"":1}
pretty writes {"a b":1} as "a b: 1\n" read as {"a b":1}
SEEN
