#!/usr/bin/env bash
# Packages: @ldapjs/asn1 2.0.0, asn1-ber 1.2.2 (npm, Node 20), seen on 2026-11-30.
# Guess: INTEGER of BER has no upper bound (X.690, 8.3): a volume of 3 GB, as in the records of
#   TS 32.298, is written and read, or refused. An object identifier under joint-iso-itu-t may have
#   a second arc from 40 on, and arcs have no bound (X.690, 8.19; X.660).
# Seen: @ldapjs/asn1 counts in 32 bits and tells nothing: 3 GB are -1294967296, written or read, and
#   1 TB is 0. The arc 4294967295 is read as -1. asn1-ber has these right. 2.999.3 is read by both
#   as 26.39.3; asn1-ber writes it in the octets of 1.15.3, @ldapjs/asn1 refuses to write it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  @ldapjs/asn1@2.0.0 asn1-ber@1.2.2 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const ldapjs = require("@ldapjs/asn1");
const ber = require("asn1-ber").Ber;
const libraries = {
  "@ldapjs/asn1": [ldapjs.BerReader, ldapjs.BerWriter], "asn1-ber": [ber.Reader, ber.Writer],
};

function attempt(action) {
  try {
    return action();
  } catch (error) {
    return error.name;
  }
}
for (const [name, [Reader, Writer]] of Object.entries(libraries)) {
  const read = (method, hex) => attempt(() => new Reader(Buffer.from(hex, "hex"))[method]());
  const write = (method, value) => attempt(() => {
    const writer = new Writer();
    writer[method](value);
    return writer.buffer.toString("hex");
  });
  console.log(name);
  for (const [value, hex] of [[3e9, "020500b2d05e00"], [1099511627776, "0206010000000000"]])
    console.log("  INTEGER", value, "written", write("writeInt", value), "read",
      read("readInt", hex));
  for (const [value, hex] of [
    ["1.3.6.1.4.1.4294967295", "060a2b060104018fffffff7f"], ["2.999.3", "0603883703"],
  ])
    console.log("  OBJECT", value, "written", write("writeOID", value), "read",
      read("readOID", hex));
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
@ldapjs/asn1
  INTEGER 3000000000 written 0204b2d05e00 read -1294967296
  INTEGER 1099511627776 written 020100 read 0
  OBJECT 1.3.6.1.4.1.4294967295 written 060a2b060104018fffffff7f read 1.3.6.1.4.1.-1
  OBJECT 2.999.3 written Error read 26.39.3
asn1-ber
  INTEGER 3000000000 written 020500b2d05e00 read 3000000000
  INTEGER 1099511627776 written 0206010000000000 read 1099511627776
  OBJECT 1.3.6.1.4.1.4294967295 written 060a2b060104018fffffff7f read 1.3.6.1.4.1.4294967295
  OBJECT 2.999.3 written 06023703 read 26.39.3
SEEN
