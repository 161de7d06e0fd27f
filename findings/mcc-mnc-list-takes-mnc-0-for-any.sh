#!/usr/bin/env bash
# Package: mcc-mnc-list 1.1.11 (Node 20), seen on 2026-11-30.
# Guess: a network is found by its codes, which may be numbers: `find` takes them, and 0 is the MNC
#   00 or 000, or none. An MNC has 2 or 3 digits (TS 23.003, 2.2). One code is one network, whose
#   status is that of the network.
# Seen: MNC 0 is passed over, as is the empty rest of a code of 3 digits: `find` answers with the
#   first network of the country. MCC 1 is not 001. Nine MNCs are `?`, a range or have 5 digits, so
#   none of the networks 314-100 to 314-190 is found. Of a code that is listed twice `find` gives
#   the first, which is not operational where the second is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts mcc-mnc-list@1.1.11 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const list = require("mcc-mnc-list");
const show = (name, found) =>
  console.log(name + ":", found ? `${found.mcc}-${found.mnc} ${found.operator}` : "none");
show("222, MNC 0", list.find({ mcc: 222, mnc: 0 }));
show("222, MNC 00", list.find({ mcc: "222", mnc: "00" }));
show("code 222", list.find({ mccmnc: "222" }));
show("1, MNC 01", list.find({ mcc: 1, mnc: "01" }));
show("001, MNC 01", list.find({ mcc: "001", mnc: "01" }));
show("314, MNC 110", list.find({ mccmnc: "314110" }));
console.log("other MNCs:", list.all().filter(({ mnc }) => !/^\d{2,3}$/.test(mnc))
  .map(({ mcc, mnc }) => `${mcc}-${mnc}`).join(", "));
for (const mccmnc of ["23418", "23428"]) {
  console.log(mccmnc + ":", list.find({ mccmnc }).status, "of",
    list.filter({ mccmnc }).map(({ status }) => status).join(", "));
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
222, MNC 0: 222-01 Telecom Italia S.p.A.
222, MNC 00: none
code 222: 222-01 Telecom Italia S.p.A.
1, MNC 01: none
001, MNC 01: 001-01 Test network
314, MNC 110: none
other MNCs: 208-50144, 208-50164, 208-50168, 208-50169, 208-50176, 208-50194, 314-100 - 190, 704-?, 704-?
23418: Not operational of Not operational, Operational
23428: Not operational of Not operational, Operational
SEEN
