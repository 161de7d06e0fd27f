#!/usr/bin/env bash
# Package: smpp 0.5.1 (Node 20), seen on 2026-11-30.
# Guess: a national single shift table (IEI 24) of a short message replaces the extension table
#   alone; the other characters stay those of the default alphabet (TS 23.038, 6.2.1.2.2). The
#   codings F0 to F3 and 10 to 13 are the default alphabet with a message class (TS 23.038, 4), so
#   a class changes no character. A character that the alphabet lacks becomes a blank.
# Seen: a single shift table replaces the whole alphabet. Behind a Turkish header, the octets 04 and
#   07 are a euro sign and a dotless i instead of e grave and i grave, and a g with breve is written
#   as 0C, which a phone shows as another letter. With class 3 the text is read as Latin-1, with
#   class 2 it stays octets. A letter outside of the alphabet is written as 00, the sign @.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts smpp@0.5.1 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { PDU } = require("smpp");

function read(coding, octets, header = "") {
  const message = new PDU("deliver_sm", {
    data_coding: coding,
    esm_class: header ? 0x40 : 0,
    short_message: Buffer.from(header + octets, "hex"),
  });
  return JSON.stringify(PDU.fromBuffer(message.toBuffer()).short_message.message);
}

for (const [name, header] of [["none", ""], ["Turkish single shift", "03240101"]]) {
  console.log(`header ${name}: 04 07 1B67 is`, read(0, "04071b67", header));
}
const written = new PDU("submit_sm", {
  short_message: { udh: Buffer.from("03240101", "hex"), message: "ğ" },
}).toBuffer();
console.log("g with breve behind that header:", written.subarray(-1).toString("hex"));
for (const coding of [0xf0, 0xf1, 0xf2, 0xf3, 0x13]) {
  console.log(`coding ${coding.toString(16)}: 00 11 41 is`, read(coding, "001141"));
}
const text = new PDU("submit_sm", { data_coding: 0, short_message: "Győr" }).toBuffer();
console.log("Győr in the default alphabet:", text.subarray(-4).toString("hex"));
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
header none: 04 07 1B67 is "èì\u001bg"
header Turkish single shift: 04 07 1B67 is "€ığ"
g with breve behind that header: 0c
coding f0: 00 11 41 is "@_A"
coding f1: 00 11 41 is "@_A"
coding f2: 00 11 41 is {"type":"Buffer","data":[0,17,65]}
coding f3: 00 11 41 is "\u0000\u0011A"
coding 13: 00 11 41 is "\u0000\u0011A"
Győr in the default alphabet: 47790072
SEEN
