#!/usr/bin/env bash
# Package: yang-js 0.24.63 (Node 20), seen on 2026-11-30.
# Guess: instance data of a YANG 1.1 module is checked and written again as RFC 7951 has it: 64-bit
#   numbers and decimal64 are strings, since a JSON number cannot hold them; bits, binary and
#   patterns with invert-match are part of the language.
# Seen: 64-bit values become JavaScript numbers: the counter 18446744073709551615 is written as
#   18446744073709552000, beyond its own range, and a drift of -9007199254740993 loses a unit.
#   decimal64 is a number as well. Binary values are refused, bits end in a TypeError, and a pattern
#   with invert-match is matched as if it were none: valid values are refused. An empty list appears
#   that was not in the data. O-RAN's counters are uint64. yanglint 2.1.30 keeps all values.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  yang-js@0.24.63 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const yang = require("yang-js");
const schema = yang.parse(`
module example-unit {
  yang-version 1.1;
  namespace "urn:example:unit";
  prefix eu;
  container unit {
    leaf octets { type uint64; }
    leaf drift { type int64; }
    leaf gain { type decimal64 { fraction-digits 4; } }
    leaf key { type binary; }
    leaf state { type bits { bit locked { position 0; } bit master { position 1; } } }
    leaf name { type string { pattern '[A-Z]+' { modifier invert-match; } } }
    list carrier { key id; leaf id { type uint16; } }
  }
}`);
for (const [name, value] of Object.entries({
  octets: "18446744073709551615", drift: "-9007199254740993", gain: "0.5000",
  key: "AAECAwQ=", state: "locked master", name: "ru-1",
})) {
  try {
    const read = schema.eval({ "example-unit:unit": { [name]: value } });
    console.log(name, JSON.stringify(value), "->", JSON.stringify(read.toJSON()));
  } catch (error) {
    console.log(name, JSON.stringify(value), "->", error.message);
  }
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
octets "18446744073709551615" -> {"example-unit:unit":{"octets":18446744073709552000,"carrier":[]}}
drift "-9007199254740993" -> {"example-unit:unit":{"drift":-9007199254740992,"carrier":[]}}
gain "0.5000" -> {"example-unit:unit":{"gain":0.5,"carrier":[]}}
key "AAECAwQ=" -> [binary] unable to convert 'AAECAwQ='
state "locked master" -> Cannot read properties of undefined (reading 'some')
name "ru-1" -> [string] pattern violation for 'ru-1'
SEEN
