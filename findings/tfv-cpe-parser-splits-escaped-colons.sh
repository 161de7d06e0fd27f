#!/usr/bin/env bash
# Package: @thefaultvault/tfv-cpe-parser 1.3.0 (npm, Node 20), seen on 2026-11-30.
# Guess: a CPE name is read by the rules of NIST IR 7695: a colon behind a backslash belongs to the
#   value (6.2), the packed edition of a URI is edition, software edition, target software, target
#   hardware and other, and the language comes behind it (6.1.2.1).
# Seen: a value is cut at its escaped colon and all members behind it move by one: the version of a
#   product is its update. Of a packed edition, the edition is read as the language; with a language
#   behind, that one is dropped and the edition is read as the edition of the software, the edition
#   of the software as the target. Underscores become blanks: "red_hat" is "red hat".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @thefaultvault/tfv-cpe-parser@1.3.0 \
  >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { CpeParser } = require("@thefaultvault/tfv-cpe-parser");

const parser = new CpeParser();
for (const name of [
  "cpe:2.3:a:vendor:core:2.7:sp1:*:*:*:*:*:*",
  "cpe:2.3:a:vendor:core\\:amf:2.7:sp1:*:*:*:*:*:*",
  "cpe:2.3:a:red_hat:core:2.7:sp1:*:*:*:*:*:*",
  "cpe:/a:vendor:core:2.7:sp1:~edition~pro~linux~x86~other",
  "cpe:/a:vendor:core:2.7:sp1:~edition~pro~linux~x86~other:de",
]) {
  const read = parser.parse(name);
  console.log(name);
  for (const key of ["vendor", "product", "version", "update", "edition", "language",
    "sw_edition", "target_sw", "target_hw", "other"]) {
    if (read[key] !== "*") console.log(`  ${key}: ${read[key]}`);
  }
}
JS
seen=$(node run.js 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
cpe:2.3:a:vendor:core:2.7:sp1:*:*:*:*:*:*
  vendor: vendor
  product: core
  version: 2.7
  update: sp1
cpe:2.3:a:vendor:core\:amf:2.7:sp1:*:*:*:*:*:*
  vendor: vendor
  product: core\
  version: amf
  update: 2.7
  edition: sp1
cpe:2.3:a:red_hat:core:2.7:sp1:*:*:*:*:*:*
  vendor: red hat
  product: core
  version: 2.7
  update: sp1
cpe:/a:vendor:core:2.7:sp1:~edition~pro~linux~x86~other
  vendor: vendor
  product: core
  version: 2.7
  update: sp1
  language: edition
  sw_edition: pro
  target_sw: linux
  target_hw: x86
  other: other
cpe:/a:vendor:core:2.7:sp1:~edition~pro~linux~x86~other:de
  vendor: vendor
  product: core
  version: 2.7
  update: sp1
  edition: ~edition~pro~linux~x86~other
  sw_edition: edition
  target_sw: pro
  target_hw: linux
  other: x86
SEEN
