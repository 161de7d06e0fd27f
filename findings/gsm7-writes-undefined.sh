#!/usr/bin/env bash
# Package: gsm7 1.3.1 (Node 20), seen on 2026-11-30.
# Guess: octets of the GSM alphabet are read with each character that it has. An escape in front of
#   one that the extension table does not have is the character of the default table (TS 23.038,
#   6.2.1.1), the form feed of the table is a break. A character that the alphabet does not have, as
#   the c with cedilla in small, is an error or is replaced when it is written.
# Seen: an escape in front of another character is read as the word "undefined", in the text of the
#   user. A character that is not in the alphabet is written as an escape alone, so "garçon" comes
#   back as "garundefinedn", a grave accent at the end is lost without a word, and the character
#   behind becomes another where the table has one: "ç(" is a brace.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts gsm7@1.3.1 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { decode, encode } = require("gsm7");

// Packs septets into octets, the first in the lowest bits (TS 23.038, 6.1.2.1).
const pack = (septets) => {
  const bits = septets.map((one) => one.toString(2).padStart(7, "0"));
  const all = bits.reverse().join("");
  const octets = all.padStart(Math.ceil(all.length / 8) * 8, "0").match(/.{8}/g).reverse();
  return Buffer.from(octets.map((octet) => parseInt(octet, 2)));
};
for (const [name, septets] of [
  ["escape and e, the euro", [0x61, 0x1b, 0x65, 0x62]],
  ["escape and a", [0x61, 0x1b, 0x61, 0x62]],
  ["escape and a form feed", [0x61, 0x1b, 0x0a, 0x62]],
]) {
  console.log(name + ":", JSON.stringify(decode(pack(septets))));
}
for (const text of ["garcon", "garçon", "ç(", "5`", "ÇÉ"]) {
  const octets = encode(text);
  console.log(text, octets.toString("hex"), JSON.stringify(decode(octets)));
}
JS
seen=$(node --no-deprecation run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
escape and e, the euro: "a€b"
escape and a: "aundefinedb"
escape and a form feed: "a\nb"
garcon e7b07cfc7603 "garcon"
garçon e7b07cf37603 "garundefinedn"
ç( 1b14 "{"
5` b50d "5"
ÇÉ 890f "ÇÉ"
SEEN
