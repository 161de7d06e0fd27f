#!/usr/bin/env bash
# Packages: pino-syslog 4.0.0, syslog-client 1.1.1, syslog-client-tls 1.2.1, syslog-pro 1.0.0,
#   glossy 0.1.7 (npm, Node 20), seen on 2026-11-30.
# Guess: facility 0 (kernel) and severity 0 (emergency) are values like others (RFC 5424, 6.2.1): a
#   level that is mapped to emergency is sent as emergency, a default severity of emergency and the
#   facility kernel are used, and the priority 0 is read.
# Seen: zero is taken for a value that is absent. In pino-syslog the custom level that is mapped to
#   emergency is sent as error (131 instead of 128), while alert is right. syslog-client and
#   syslog-client-tls send with the defaults kernel and emergency as local0 and informational (134
#   instead of 0), syslog-pro with the facility 0 as local7. glossy reads <1> as kern and alert; of
#   <0> it tells neither facility nor severity.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  pino-syslog@4.0.0 syslog-client@1.1.1 syslog-client-tls@1.2.1 syslog-pro@1.0.0 \
  glossy@0.1.7 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { buildOptions } = require("pino-syslog/lib/utils");
const { messageBuilderFactory } = require("pino-syslog/lib/rfc5424");
const { RFC5424 } = require("syslog-pro");
const glossy = require("glossy").Parse;

const build = messageBuilderFactory(buildOptions({
  customLevels: {
    outage: { level: 70, syslogSeverity: "emergency" },
    alarm: { level: 65, syslogSeverity: "alert" },
  },
}));
for (const [name, level] of [["outage", 70], ["alarm", 65]]) {
  const line = build({ level, time: 0, hostname: "gnb1", pid: 1, msg: "cell down" });
  console.log("pino-syslog:", name, line.split(" ")[0]);
}
for (const name of ["syslog-client", "syslog-client-tls"]) {
  const syslog = require(name);
  for (const [facility, severity] of [["Kernel", "Emergency"], ["User", "Alert"]]) {
    const client = syslog.createClient("127.0.0.1", {
      facility: syslog.Facility[facility], severity: syslog.Severity[severity], rfc3164: false,
    });
    const line = client.buildFormattedMessage("text", {
      facility: client.facility, severity: client.severity, rfc3164: false,
    });
    console.log(`${name}: ${facility} ${severity}`, line.toString().split(" ")[0]);
    client.close();
  }
}
(async () => {
  for (const facility of [0, 1]) {
    const line = await new RFC5424({ facility }).buildMessage("text", { facility, severity: 1 });
    console.log(`syslog-pro: facility ${facility}`, line.split(" ")[0]);
  }
  for (const priority of [0, 1]) {
    const read = glossy.parse(`<${priority}>1 2026-11-30T10:00:00Z gnb1 app 12 ID1 - text`);
    console.log(`glossy: <${priority}>`, read.facility, read.severity);
  }
})();
JS
seen=$(node --no-deprecation run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
pino-syslog: outage <131>1
pino-syslog: alarm <129>1
syslog-client: Kernel Emergency <134>1
syslog-client: User Alert <9>1
syslog-client-tls: Kernel Emergency <134>1
syslog-client-tls: User Alert <9>1
syslog-pro: facility 0 <185>1
syslog-pro: facility 1 <9>1
glossy: <0> undefined undefined
glossy: <1> kern alert
SEEN
