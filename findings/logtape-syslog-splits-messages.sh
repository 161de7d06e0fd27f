#!/usr/bin/env bash
# Package: @logtape/syslog 1.3.10 with @logtape/logtape 1.3.10 (npm, Node 20), seen on 2026-11-30.
# Guess: over TLS each message has its length in front (RFC 5425, 4.3: SYSLOG-FRAME = MSG-LEN SP
#   SYSLOG-MSG), so a text with a line break is one message, and names of structured data are those
#   of RFC 5424, 6.3.3: no blank, no "=", no "]", at most 32 characters.
# Seen: no length is sent; a line break ends the message, and the second line of a text is a message
#   without a priority. Properties are written with the names they have: "5QI flow" is two words in
#   one element, so the header is not valid. Values in the text are in quotation marks.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @logtape/syslog@1.3.10 \
  @logtape/logtape@1.3.10 >npm.log 2>&1 || { cat npm.log; exit 1; }
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem \
  -out cert.pem -days 2 -subj /CN=log.example 2>openssl.log || { cat openssl.log; exit 1; }
cat >run.mjs <<'JS'
import { readFileSync } from "node:fs";
import tls from "node:tls";
import { getSyslogSink } from "@logtape/syslog";

let text = "";
const server = tls.createServer({ key: readFileSync("key.pem"), cert: readFileSync("cert.pem") },
  (socket) => socket.on("data", (data) => { text += data; }));
server.listen(0, "127.0.0.1", async () => {
  const sink = getSyslogSink({
    hostname: "127.0.0.1", port: server.address().port, protocol: "tcp", secure: true,
    tlsOptions: { rejectUnauthorized: false }, appName: "amf", syslogHostname: "amf1",
    processId: "7", includeStructuredData: true, structuredDataId: "n2@32473",
  });
  const record = { category: ["n2"], level: "error", timestamp: Date.UTC(2026, 10, 30) };
  sink({ ...record, message: ["gNB ", "gnb-1", " lost"], rawMessage: "", properties: {} });
  sink({ ...record, message: ["reset\ncause: radio"], rawMessage: "", properties: {} });
  sink({ ...record, message: ["flow"], rawMessage: "", properties: { "5QI flow": 9 } });
  await sink[Symbol.asyncDispose]();
  await new Promise((done) => setTimeout(done, 500));
  for (const line of text.trimEnd().split("\n")) console.log(line);
  process.exit(0);
});
JS
seen=$(timeout 60 node run.mjs 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
<131>1 2026-11-30T00:00:00.000Z amf1 amf 7 - - gNB "gnb-1" lost
<131>1 2026-11-30T00:00:00.000Z amf1 amf 7 - - reset
cause: radio
<131>1 2026-11-30T00:00:00.000Z amf1 amf 7 - [n2@32473 5QI flow="9"] flow
SEEN
