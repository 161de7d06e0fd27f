#!/usr/bin/env bash
# Package: cloudevents 10.0.0 (npm, Node 20), seen on 2026-11-30.
# Guess: an event that is read and sent on, as notifications of an O-Cloud about its clocks are,
#   keeps its attributes (CloudEvents 1.0): no time where there was none, a time to the nanosecond
#   in its own zone (RFC 3339). In headers, what is not printable ASCII is percent-encoded, and
#   decoded when it is read (HTTP protocol binding 1.0.2, 3.1.3.2).
# Seen: an event without a time gets the time at which it was read. Of 123456789 ns, 123 ms are
#   left, and the zone is UTC; an extension of the same form stays as it was. Headers are neither
#   decoded nor encoded: the subject "Köln" arrives as "K%C3%B6ln", and is given to HTTP as "Köln".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  cloudevents@10.0.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { CloudEvent, HTTP } = require("cloudevents");

const head = { "content-type": "application/json", "ce-specversion": "1.0", "ce-id": "1",
  "ce-source": "/gnb1/sync", "ce-type": "event.sync.ptp-status.ptp-state-change" };

function forward(name, headers) {
  const request = { headers: { ...head, ...headers }, body: '{"values": []}' };
  const { "ce-time": time, "ce-locked": locked } = HTTP.binary(HTTP.toEvent(request)).headers;
  const recent = Math.abs(Date.now() - Date.parse(time)) < 60000;
  console.log(`${name}:`, recent ? "now" : time, locked ?? "");
}
forward("no time", {});
forward("time", { "ce-time": "2016-11-30T10:00:00.123456789+05:30",
  "ce-locked": "2016-11-30T10:00:00.123456789+05:30" });
const read = HTTP.toEvent({ headers: { ...head, "ce-subject": "K%C3%B6ln" }, body: "{}" });
console.log("subject read:", read.subject);
const written = new CloudEvent({ id: "1", source: "/a", type: "t", subject: "Köln" });
console.log("subject written:", HTTP.binary(written).headers["ce-subject"]);
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
no time: now 
time: 2016-11-30T04:30:00.123Z 2016-11-30T10:00:00.123456789+05:30
subject read: K%C3%B6ln
subject written: Köln
SEEN
