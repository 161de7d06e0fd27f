#!/usr/bin/env bash
# Package: nsyslog-parser 0.10.1 (Node 20); glossy 0.1.7 is the second reader; seen on 2026-11-30.
# Guess: a message of RFC 5424 is read field by field: seven fields of the header, then structured
#   data, which is absent when it is "-", then the text. A host may be an IPv6 address (6.2.4), an
#   application name any printable US-ASCII (6.2.5), and an element may have no parameter (6.3.2).
# Seen: brackets in the text are structured data, and the text behind them is lost. An element with
#   escaped characters or without parameters stays in the text. At a host with a colon, or an
#   application name with one, the header ends: host, application and process are empty and the
#   rest of the header is the text. glossy reads all of them, apart from the element without
#   parameters.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  nsyslog-parser@0.10.1 glossy@0.1.7 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const parse = require("nsyslog-parser");
const glossy = require("glossy").Parse;

const start = "<165>1 2026-11-30T10:00:00.000Z ";
for (const rest of [
  'amf1 amf 12 ID47 [ue@32473 gnb="7"] registered',
  'amf1 amf 12 ID47 - handover [from gnb="7" to="9"] done after 12 ms',
  'amf1 amf 12 ID47 [ue@32473 note="says \\"7\\""] registered',
  'amf1 amf 12 ID47 [ue@32473] registered',
  '2001:db8::1 amf 12 ID47 - registered',
  'amf1 amf:core 12 ID47 - registered',
]) {
  const one = parse(start + rest), other = glossy.parse(start + rest);
  console.log(rest);
  console.log("  nsyslog-parser:", JSON.stringify([one.host, one.appName, one.pid, one.messageid,
    one.structuredData, one.message]));
  console.log("  glossy:", JSON.stringify([other.host, other.appName, other.pid, other.msgID,
    other.structuredData, other.message]));
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
amf1 amf 12 ID47 [ue@32473 gnb="7"] registered
  nsyslog-parser: ["amf1","amf","12","ID47",[{"$id":"ue@32473","gnb":"7"}],"registered"]
  glossy: ["amf1","amf","12","ID47",{"ue@32473":{"gnb":"7"}},"registered"]
amf1 amf 12 ID47 - handover [from gnb="7" to="9"] done after 12 ms
  nsyslog-parser: ["amf1","amf","12","ID47",[{"$id":"from","gnb":"7","to":"9"}],"handover"]
  glossy: ["amf1","amf","12","ID47",null,"handover [from gnb=\"7\" to=\"9\"] done after 12 ms"]
amf1 amf 12 ID47 [ue@32473 note="says \"7\""] registered
  nsyslog-parser: ["amf1","amf","12","ID47",[],"[ue@32473 note=\"says \\\"7\\\"\"] registered"]
  glossy: ["amf1","amf","12","ID47",{"ue@32473":{"note":"says \"7\""}},"registered"]
amf1 amf 12 ID47 [ue@32473] registered
  nsyslog-parser: ["amf1","amf","12","ID47",[],"[ue@32473] registered"]
  glossy: ["amf1","amf","12","ID47",{},"registered"]
2001:db8::1 amf 12 ID47 - registered
  nsyslog-parser: ["",null,null,null,[],"2001:db8::1 amf 12 ID47 - registered"]
  glossy: ["2001:db8::1","amf","12","ID47",null,"registered"]
amf1 amf:core 12 ID47 - registered
  nsyslog-parser: ["amf1",null,null,null,[],"amf:core 12 ID47 - registered"]
  glossy: ["amf1","amf:core","12","ID47",null,"registered"]
SEEN
