#!/usr/bin/env bash
# Package: @croct/json-pointer 0.3.0 (Node 20), with json-pointer 0.6.2 as the reader that does it;
#   seen on 2026-11-30.
# Guess: a reference token names a member of an object, whatever its characters; for an array alone
#   it is an index, which has no leading zeros (RFC 6901, 4). TS 29.503 keys the PDU sessions of a
#   subscriber by their identifiers: /pduSessions/5 is the session 5.
# Seen: a token of digits is an index before anything is looked up: the session 5 is not found, is
#   neither set nor removed, "Expected array". Of an array, 01 is the second element.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @croct/json-pointer@0.3.0 \
  json-pointer@0.6.2 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import { JsonPointer } from "@croct/json-pointer";
import other from "json-pointer";

const context = () => ({
  pduSessions: { 5: { dnn: "internet" }, "000001": { dnn: "ims" } }, list: ["first", "second"] });
const attempt = (title, action) => {
  try {
    console.log(title, JSON.stringify(action()));
  } catch (error) {
    console.log(title, "refused:", error.message);
  }
};
for (const text of ["/pduSessions/5", "/pduSessions/5/dnn", "/pduSessions/000001", "/list/01"]) {
  attempt(`${text}, croct:`, () => JsonPointer.parse(text).get(context()));
  attempt(`${text}, the other:`, () => other.get(context(), text));
}
attempt("set:", () => JsonPointer.parse("/pduSessions/6").set(context(), { dnn: "v2x" }));
attempt("unset:", () => JsonPointer.parse("/pduSessions/5").unset(context()));
attempt("has:", () => JsonPointer.parse("/pduSessions/5").has(context()));
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
/pduSessions/5, croct: refused: Expected array at "/pduSessions", got object.
/pduSessions/5, the other: {"dnn":"internet"}
/pduSessions/5/dnn, croct: refused: Expected array at "/pduSessions", got object.
/pduSessions/5/dnn, the other: "internet"
/pduSessions/000001, croct: refused: Expected array at "/pduSessions", got object.
/pduSessions/000001, the other: {"dnn":"ims"}
/list/01, croct: "second"
/list/01, the other: refused: Invalid reference token: 01
set: refused: Expected array at "/pduSessions", got object.
unset: undefined
has: false
SEEN
