#!/usr/bin/env bash
# Package: node-pdu 2.1.1 (Node 20), seen on 2026-11-30.
# Guess: a short message of TS 23.040 is read, and written again it is the same. Its validity A7 is
#   24 hours and AA 4 days (9.2.3.12.1), the zone of its service centre in quarters of an hour may
#   be that of India, the bit 04 of SMS-DELIVER says that no more messages wait. A number may have
#   `#`, a sender be a name. A part of a long text ends between two characters.
# Seen: 24 hours are 12.5 days, 2 days are 1, 4 days are 3, and the octet that is written is
#   another. +05:30 is "+5.5:00", which is no date. The bit 04 is gone: what is written says that
#   more messages wait. #31#112 is read as B31B112; the name `Operator1` is written as the digits
#   C1. An emoji is cut in two halves.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts node-pdu@2.1.1 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { parse, Submit } = require("node-pdu");

for (const octet of ["A7", "A8", "AA", "C4"]) {
  const text = `0011000B911326880736F40000${octet}05C8329BFD06`;
  const message = parse(text);
  console.log(`validity ${octet}:`, message.validityPeriod._interval / 3600, "hours, written",
    message.getPartStrings()[0].slice(26, 28));
}
for (const zone of ["80", "22"]) {
  const message = parse(`00040B911326880736F40000621103010000${zone}05C8329BFD06`);
  const time = message.serviceCenterTimeStamp.getIsoString();
  console.log("zone", zone, time, Number.isNaN(Date.parse(time)) ? "no date" : "a date");
  console.log("first octets 0004, written", message.getPartStrings()[0].slice(0, 4));
}
for (const name of ["112", "#31#112", "Operator1"]) {
  console.log(name, "is", parse(new Submit(name, "Hello").toString()).address.phone);
}
const [first, second] = new Submit("112", "😀".repeat(40)).getPartStrings();
console.log("parts:", JSON.stringify(parse(first).data.getText().slice(-3)), "and",
  JSON.stringify(parse(second).data.getText().slice(0, 3)));
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
validity A7: 300 hours, written B3
validity A8: 24 hours, written A7
validity AA: 72 hours, written A9
validity C4: 696 hours, written C3
zone 80 2026-11-30T10:00:00+02:00 a date
first octets 0004, written 0000
zone 22 2026-11-30T10:00:00+5.5:00 no date
first octets 0004, written 0000
112 is 112
#31#112 is B31B112
Operator1 is C1
parts: "😀\ud83d" and "\ude00😀"
SEEN
