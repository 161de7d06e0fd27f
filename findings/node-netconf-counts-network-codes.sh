#!/usr/bin/env bash
# Package: node-netconf 1.1.2 (npm, Node 20), seen on 2026-11-30.
# Guess: a leaf of a reply has the text that the server sent: an MCC, an MNC and a slice
#   differentiator are strings of YANG (TS 28.541), a counter has 64 bits (RFC 7950, 9.2), a serial
#   number is a string.
# Seen: whatever looks like a number becomes one: MCC 001 and MNC 01 are 1, the MNC 010 is 10. The
#   slice differentiator 0000E1 is 0, as a power of ten, and the serial number 12E4567 is infinity.
#   Of a counter beyond 2^53 the last digits are others. 0000AF stays as it was.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  node-netconf@1.1.2 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { EventEmitter } = require("node:events");
const { Client } = require("node-netconf");

const client = new Client({ host: "gnb1.example", username: "a", password: "b" });
// A session that answers each request with one reply.
client.netconf = new EventEmitter();
client.netconf.write = (request, done) => {
  const [id] = /message-id="\d+"/.exec(request);
  done();
  client.rcvBuffer = `<rpc-reply ${id} xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"><data>
<mcc>001</mcc><mnc>01</mnc><mnc>010</mnc><sd>0000E1</sd><sd>0000AF</sd>
<serial-num>12E4567</serial-num><in-octets>18014398509481985</in-octets>
</data></rpc-reply>\n]]>]]>`;
  client.netconf.emit("data");
};
client.rpc("get", (error, message) => {
  for (const [name, value] of Object.entries(message.rpc_reply.data))
    console.log(name, value);
});
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
mcc 1
mnc [ 1, 10 ]
sd [ 0, '0000AF' ]
serial_num Infinity
in_octets 18014398509481984
SEEN
