#!/usr/bin/env bash
# Package: ldap-filter 0.3.3, @ldapjs/filter 2.1.1 (Node 20), seen on 2026-11-30.
# Guess: a filter matches as a directory does (RFC 4511, 4.5.1.7): integers by their value, names
#   and addresses without their case; text of two lines too; a filter that is undefined for an entry
#   that lacks the attribute does not select it, behind a NOT either; an empty AND is true (RFC
#   4526); an attribute may have options, and is found without them (RFC 4512, 2.5).
# Seen: each value is compared as text, so a quota of 10 is below 9, an address is found in one
#   case alone, and `(!(lock=1))` selects who has no lock. Behind `*`, a line break ends the match;
#   options and extensible matches are an error, or match nothing. The old package, which has most
#   of the downloads, refuses `(&)`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts ldap-filter@0.3.3 @ldapjs/filter@2.1.1 \
  >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const old = require("ldap-filter");
const current = require("@ldapjs/filter");
const answer = (run) => {
  try {
    return run();
  } catch (error) {
    return error.message;
  }
};
for (const [filter, entry] of [
  ["(quota>=9)", { quota: "10" }],
  ["(quota<=9)", { quota: "10" }],
  ["(mail=AMF1@example.org)", { mail: "amf1@example.org" }],
  ["(!(lock=1))", { uid: "imsi-001010000000001" }],
  ["(cn=*first*last)", { cn: "first\nlast" }],
  ["(&)", { cn: "a" }],
  ["(cn;lang-de=a)", { "cn;lang-de": "a" }],
  ["(cn=a)", { "cn;lang-de": "a" }],
  ["(cn:caseExactMatch:=a)", { cn: "a" }],
]) {
  console.log(filter, JSON.stringify(entry));
  console.log("  ", answer(() => old.parse(filter).matches(entry)), "|",
    answer(() => current.parseString(filter).matches(entry)));
}
JS
seen=$(node --no-deprecation run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
(quota>=9) {"quota":"10"}
   false | false
(quota<=9) {"quota":"10"}
   true | true
(mail=AMF1@example.org) {"mail":"amf1@example.org"}
   false | false
(!(lock=1)) {"uid":"imsi-001010000000001"}
   true | true
(cn=*first*last) {"cn":"first\nlast"}
   false | false
(&) {"cn":"a"}
   missing paren | true
(cn;lang-de=a) {"cn;lang-de":"a"}
   invalid expression | invalid expression
(cn=a) {"cn;lang-de":"a"}
   false | false
(cn:caseExactMatch:=a) {"cn":"a"}
   ext match implementation missing | not implemented
SEEN
