#!/usr/bin/env bash
# Package: sms-length 0.2.2, smshelper 0.1.0, gsm 0.1.4 (Node 20), seen on 2026-11-30.
# Guess: a counter of short messages says how many are sent. A character of two septets is not
#   cut (TS 23.040, 9.2.3.24.1), nor one of two UCS-2 units, so a part that has room for half of
#   it ends before it. A page break is a character of the extension table (TS 23.038, 6.2.1.1).
# Seen: sms-length divides the length: 152 letters, a euro sign and 152 letters are counted as 2,
#   but need 3. 66 letters, an emoji and 66 letters are 2 for all three, and need 3; gsm, which
#   gives the parts, cuts the emoji in two halves that are no character. sms-segments-calculator
#   1.3.0 says 3 both times. A page break is UTF-16 for sms-length and smshelper: 159 letters with
#   one are 3 messages, not 2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  sms-length@0.2.2 smshelper@0.1.0 gsm@0.1.4 sms-segments-calculator@1.3.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const length = require("sms-length");
const helper = require("smshelper");
const gsm = require("gsm");
const { SegmentedMessage } = require("sms-segments-calculator");

for (const [name, text] of [
  ["euro sign at a border", "x".repeat(152) + "€" + "y".repeat(152)],
  ["emoji at a border", "x".repeat(66) + "😀" + "y".repeat(66)],
  ["page break", "x".repeat(159) + "\f"],
]) {
  const counted = gsm(text);
  console.log(`${name}: sms-length ${length.count(text).messages},`,
    `smshelper ${helper.parts(text)}, gsm ${counted.sms_count},`,
    `calculator ${new SegmentedMessage(text).segmentsCount}`);
  console.log("  gsm:", counted.parts.map((part) =>
    JSON.stringify(part.slice(0, 2)) + " to " + JSON.stringify(part.slice(-1))).join(", "));
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
euro sign at a border: sms-length 2, smshelper 3, gsm 3, calculator 3
  gsm: "xx" to "x", "€y" to "y", "y" to "y"
emoji at a border: sms-length 2, smshelper 2, gsm 2, calculator 3
  gsm: "xx" to "\ud83d", "\ude00y" to "y"
page break: sms-length 3, smshelper 3, gsm 2, calculator 2
  gsm: "xx" to "x", "xx" to "\f"
SEEN
