#!/usr/bin/env bash
# Package: simple-syslog-server 1.0.0 (npm, Node 20), seen on 2026-11-30.
# Guess: a message with a full date keeps it, and a message after RFC 5424, which the package names
#   beside its parser, has its priority and host.
# Seen: each date is moved into the current year: what was logged on 31 December 2024 is dated 31
#   December of this year, in the future. Of RFC 5424 the host is a word of the text and the date the
#   first of January; without a colon in the text the message is invalid, an emergency too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts simple-syslog-server@1.0.0 \
  >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const dgram = require("dgram");
const Syslog = require("simple-syslog-server");

const lines = [
  "<30>2024-12-31T23:59:58Z amf1 amf[7]: started",
  "<30>Dec 31 23:59:58 2024 amf1 amf[7]: started",
  "<24>1 2026-11-30T08:00:00Z amf1.example amf 7 START - N2 is up: gNB 1",
  "<24>1 2026-11-30T08:00:00Z amf1.example amf 7 START - N2 is down",
];
const server = Syslog("UDP");
const sender = dgram.createSocket("udp4");
const year = new Date().getFullYear();
const next = () => {
  const line = lines.shift();
  if (line === undefined) process.exit(0);
  console.log(line);
  sender.send(line, 20514, "127.0.0.1");
};
server.on("msg", ({ severity, hostname, tag, timestamp }) => {
  const time = Number.isNaN(timestamp.getTime()) ? "invalid" :
    timestamp.toISOString().slice(0, 10).replace(String(year), "this year");
  console.log("  severity", severity, "host", hostname, "tag", tag,
    severity ? `date ${time}` : "date of its arrival");
  next();
});
server.on("invalid", () => { console.log("  invalid"); next(); });
server.listen({ host: "127.0.0.1", port: 20514 }).then(next);
JS
seen=$(TZ=UTC timeout 30 node run.js 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
<30>2024-12-31T23:59:58Z amf1 amf[7]: started
  severity info host amf1 tag amf[7] date this year-12-31
<30>Dec 31 23:59:58 2024 amf1 amf[7]: started
  severity info host amf1 tag amf[7] date this year-12-31
<24>1 2026-11-30T08:00:00Z amf1.example amf 7 START - N2 is up: gNB 1
  severity emerg host is tag up date this year-01-01
<24>1 2026-11-30T08:00:00Z amf1.example amf 7 START - N2 is down
  invalid
SEEN
