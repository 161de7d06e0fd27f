#!/usr/bin/env bash
# Package: sip 0.0.6 (npm, Node 20), seen on 2026-11-30.
# Guess: an IMS over IPv6 is read as one over IPv4: sent-by of Via may be an IPv6 address in
#   brackets with a port, `received` one without brackets (RFC 3261, 25.1), and a SIP URI has an
#   address in brackets as its host. A message that is read and written again, as a proxy does,
#   stays as it was.
# Seen: the host of Via ends at the first colon: [2001. The port and all parameters are lost, the
#   branch, by which a response finds its transaction, among them. `received` is cut at its first
#   colon. Written again, the header ends there. `parseUri` answers undefined for a host in
#   brackets. Contact with such a URI stays as it was.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  sip@0.0.6 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const sip = require("sip");

for (const via of [
  "192.0.2.1:5060;branch=z9hG4bK1", "[2001:db8::1]:5060;branch=z9hG4bK1",
  "pcscf.example:5060;branch=z9hG4bK1;received=2001:db8::1",
]) {
  const read = sip.parse([
    "SIP/2.0 200 OK", `Via: SIP/2.0/UDP ${via}`, "To: <sip:a@ims.example>",
    "From: <sip:b@ims.example>;tag=1", "Call-ID: 1", "CSeq: 1 INVITE",
    "Contact: <sip:a@[2001:db8::1]:5060>", "", "",
  ].join("\r\n"));
  const [{ host, port, params }] = read.headers.via;
  console.log(via);
  console.log("  read:", host, port, JSON.stringify(params));
  console.log("  written:", /Via:.*/.exec(sip.stringify(read))[0]);
  if (host !== "192.0.2.1") continue;
  console.log("  contact:", read.headers.contact[0].uri);
}
for (const uri of ["sip:a@192.0.2.1:5060", "sip:a@[2001:db8::1]:5060"])
  console.log(uri, sip.parseUri(uri)?.host);
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
192.0.2.1:5060;branch=z9hG4bK1
  read: 192.0.2.1 5060 {"branch":"z9hG4bK1"}
  written: Via: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK1
  contact: sip:a@[2001:db8::1]:5060
[2001:db8::1]:5060;branch=z9hG4bK1
  read: [2001 undefined {}
  written: Via: SIP/2.0/UDP [2001
pcscf.example:5060;branch=z9hG4bK1;received=2001:db8::1
  read: pcscf.example 5060 {"branch":"z9hG4bK1","received":"2001"}
  written: Via: SIP/2.0/UDP pcscf.example:5060;branch=z9hG4bK1;received=2001
sip:a@192.0.2.1:5060 192.0.2.1
sip:a@[2001:db8::1]:5060 undefined
SEEN
