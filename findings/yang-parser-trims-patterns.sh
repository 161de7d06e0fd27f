#!/usr/bin/env bash
# Packages: yang-parser 0.2.1 (npm, Node 20), pyang 2.7.1 (Python 3.11), seen on 2026-11-30.
# Guess: in a double-quoted string, blanks around the line breaks of a module are layout and are
#   trimmed; `\n` and `\t` are characters that the author asked for, and stay (RFC 7950, 6.1.3). So
#   do blanks beside them.
# Seen: yang-parser puts in the characters first and then trims: of a pattern that excludes line
#   break, space and tab, the line break is left, so other values of a configuration are valid. A
#   tab behind `\n` is left out. pyang has the strings as they are; without `\n` both agree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  yang-parser@0.2.1 >npm.log 2>&1 || { cat npm.log; exit 1; }
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pyang==2.7.1
cat >a.yang <<'YANG'
module a {
  yang-version 1.1;
  namespace "urn:a";
  prefix a;
  description "one
               two";
  typedef word { type string { pattern "[^\n \t]+"; } }
  typedef name { type string { pattern "[^ \t]+"; } }
  organization "a\n\tb";
}
YANG
cat >run.js <<'JS'
const { parse } = require("yang-parser");

(function show(statement) {
  if (["description", "pattern", "organization"].includes(statement.kw))
    console.log("yang-parser:", statement.kw, JSON.stringify(statement.arg));
  statement.substmts.forEach(show);
})(parse(require("node:fs").readFileSync("a.yang", "utf8")));
JS
cat >run.py <<'PY'
import json
from pyang import context, repository


def show(statement):
    if statement.keyword in ("description", "pattern", "organization"):
        print("pyang:", statement.keyword, json.dumps(statement.arg))
    for one in statement.substmts:
        show(one)


module = context.Context(repository.FileRepository(".")).add_module("a", open("a.yang").read())
show(module)
PY
seen=$(node run.js && venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
yang-parser: description "one\ntwo"
yang-parser: pattern "[^\n]+"
yang-parser: pattern "[^ \t]+"
yang-parser: organization "a\nb"
pyang: description "one\ntwo"
pyang: pattern "[^\n \t]+"
pyang: pattern "[^ \t]+"
pyang: organization "a\n\tb"
SEEN
