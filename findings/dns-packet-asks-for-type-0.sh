#!/usr/bin/env bash
# Package: dns-packet 5.6.1 (Node 20), seen on 2026-12-01.
# Guess: a type that is not known is an error when it is written, or TYPE65 of RFC 3597 is taken; an
#   NSEC lists the types that it was given.
# Seen: HTTPS, SVCB, URI, SMIMEA and TYPE65 are written as type 0 without an error, so the question
#   is another one. An NSEC of A and HTTPS has the bit of type 0 and none of HTTPS: a resolver
#   takes it for a proof that there is no HTTPS record. Only UNKNOWN_65, as the package itself
#   reads the type, is written as 65.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts dns-packet@5.6.1 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const packet = require("dns-packet");
for (const type of ["NAPTR", "HTTPS", "SVCB", "URI", "SMIMEA", "TYPE65", "UNKNOWN_65"]) {
  const octets = packet.encode({ type: "query", questions: [{ type, name: "a.example" }] });
  console.log(`question for ${type}: type ${octets.readUInt16BE(octets.length - 4)}`);
}
for (const rrtypes of [["A", "NAPTR"], ["A", "HTTPS"], ["A", "UNKNOWN_65"]]) {
  const octets = packet.encode({ type: "response", answers: [
    { name: "a.example", ttl: 1, type: "NSEC", data: { nextDomain: "b.example", rrtypes } }] });
  console.log(`NSEC of ${rrtypes}: ${packet.decode(octets).answers[0].data.rrtypes}`);
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
question for NAPTR: type 35
question for HTTPS: type 0
question for SVCB: type 0
question for URI: type 0
question for SMIMEA: type 0
question for TYPE65: type 0
question for UNKNOWN_65: type 65
NSEC of A,NAPTR: A,NAPTR
NSEC of A,HTTPS: UNKNOWN_0,A
NSEC of A,UNKNOWN_65: A,UNKNOWN_65
SEEN
