#!/usr/bin/env bash
# Package: syslog-parse 2.0.0 (npm, Node 20), seen on 2026-11-30.
# Guess: month and day of a message are those it has (RFC 3164, 4.1.2), whatever day it is read on.
# Seen: the month is set into today's date and the day after it. On the 30th, a message of 10 February
#   becomes one of 10 March; on the 31st those of each month with 30 days move to the next one. A
#   message of 31 December that is read on 1 January is dated a year ahead, and one without a
#   priority is an emergency of the kernel.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts syslog-parse@2.0.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import parse from "syslog-parse";

const Real = Date;
function readOn(day, line) {
  globalThis.Date = class extends Real {
    constructor(...given) {
      super(...(given.length ? given : [`${day}T12:00:00Z`]));
    }
  };
  const read = parse(line);
  globalThis.Date = Real;
  console.log(`read on ${day}: ${line.slice(0, 19)} is`, read.time.toISOString().slice(0, 10));
  return read;
}

readOn("2026-11-15", "<30>Feb 10 08:00:00 amf1 amf[7]: started");
readOn("2026-11-30", "<30>Feb 10 08:00:00 amf1 amf[7]: started");
readOn("2026-10-31", "<30>Sep 10 08:00:00 amf1 amf[7]: started");
readOn("2027-01-01", "<30>Dec 31 23:59:58 amf1 amf[7]: started");
const read = readOn("2026-11-15", "Nov 10 08:00:00 amf1 amf[7]: started");
console.log("without priority:", read.facility, read.severity);
JS
seen=$(TZ=UTC node run.mjs 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
read on 2026-11-15: <30>Feb 10 08:00:00 is 2026-02-10
read on 2026-11-30: <30>Feb 10 08:00:00 is 2026-03-10
read on 2026-10-31: <30>Sep 10 08:00:00 is 2026-10-10
read on 2027-01-01: <30>Dec 31 23:59:58 is 2027-12-31
read on 2026-11-15: Nov 10 08:00:00 amf is 2026-11-10
without priority: kern emerg
SEEN
