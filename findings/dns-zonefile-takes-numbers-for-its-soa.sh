#!/usr/bin/env bash
# Package: dns-zonefile 0.3.2 (Node 20), seen on 2026-12-01.
# Guess: times of an SOA have units or none, as BIND reads them. Class and time to live stand in
#   any order and case (RFC 1035, 5.1). A record of a type that the package does not know, as the
#   NAPTR of an AMF or the TLSA of a server, is an error, or is left out and changes nothing else.
# Seen: of 2h and 1d in the SOA the digits are kept, 2 and 1 seconds. An A record with the time
#   1h, with the class first, or in small letters is left out without an error, and so are NAPTR
#   and HTTPS. A TLSA in parentheses is read into the SOA: its numbers become the times of
#   the zone, and the serial is NaN.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts dns-zonefile@0.3.2 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const zonefile = require("dns-zonefile").default;
for (const line of ["a 60 IN A 192.0.2.1", "a 1h IN A 192.0.2.1", "a IN 60 A 192.0.2.1",
  "a 60 in a 192.0.2.1", 'a 60 IN NAPTR 1 2 "s" "x-3gpp-amf:x-n2" "" b.example.',
  'a 60 IN HTTPS 1 . alpn="h2"', "_443._tcp.a 60 IN TLSA ( 3 1 1\n  01230123 )"]) {
  const zone = zonefile.parse(
    `$ORIGIN example.\n$TTL 7200\n@ IN SOA ns.example. root.example. 7 2h 1h 4w 1d\n${line}\n`);
  const { serial, refresh, retry, expire, minimum } = zone.soa;
  const records = Object.keys(zone).filter((key) => !["$origin", "$ttl", "soa"].includes(key));
  console.log(line.replace("\n", " "));
  console.log(`  ${records.map((key) => JSON.stringify(zone[key]))}; SOA:`,
    [serial, refresh, retry, expire, minimum].join(" "));
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
a 60 IN A 192.0.2.1
  [{"name":"a","ip":"192.0.2.1","ttl":60}]; SOA: 7 2 1 4 1
a 1h IN A 192.0.2.1
  ; SOA: 7 2 1 4 1
a IN 60 A 192.0.2.1
  ; SOA: 7 2 1 4 1
a 60 in a 192.0.2.1
  ; SOA: 7 2 1 4 1
a 60 IN NAPTR 1 2 "s" "x-3gpp-amf:x-n2" "" b.example.
  ; SOA: 7 2 1 4 1
a 60 IN HTTPS 1 . alpn="h2"
  ; SOA: 7 2 1 4 1
_443._tcp.a 60 IN TLSA ( 3 1 1   01230123 )
  ; SOA: NaN 3 1 1 1230123
SEEN
