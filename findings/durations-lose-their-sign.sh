#!/usr/bin/env bash
# Packages: iso8601-duration 2.1.4, date-duration 2.0.0, pomeranian-durations 1.11.4, with moment
#   2.31.0 as the reader that does it (Node 20), seen on 2026-11-30.
# Guess: a duration that a reader takes with its sign is negative: -P1D is the day before (XML
#   Schema Part 2, 3.2.6; ISO 8601-2). PT1M30.25S has 30 seconds. No time at all is P0D or PT0S: at
#   least one number and its designator are there.
# Seen: iso8601-duration and date-duration take -P1D for P1D, without an error: a time that should
#   end before an event ends behind it. Of seconds with a fraction date-duration keeps nothing:
#   PT1M30.25S is one minute. pomeranian-durations writes zero as `P`, which both refuse.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts iso8601-duration@2.1.4 \
  date-duration@2.0.0 pomeranian-durations@1.11.4 moment@2.31.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { parse, toSeconds } = require("iso8601-duration");
const dates = require("date-duration");
const DateDuration = dates.default || dates;
const pomeranian = require("pomeranian-durations");
const moment = require("moment");

const attempt = (action) => {
  try {
    return action();
  } catch (error) {
    return "refused";
  }
};
const epoch = () => new Date(0);
const list = ["P1D", "-P1D", "-PT90M", "PT1M30.25S", pomeranian.fromMilliseconds(0)];
for (const text of list) {
  console.log(text);
  console.log("  iso8601-duration", attempt(() => toSeconds(parse(text), epoch())));
  console.log("  date-duration", attempt(() => new DateDuration(text).addTo(epoch()) / 1000));
  console.log("  moment", moment.duration(text).asSeconds());
}
console.log(pomeranian.subtract("PT90S", "PT90S"), pomeranian.isValid("PT0S"));
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
P1D
  iso8601-duration 86400
  date-duration 86400
  moment 86400
-P1D
  iso8601-duration 86400
  date-duration 86400
  moment -86400
-PT90M
  iso8601-duration 5400
  date-duration 5400
  moment -5400
PT1M30.25S
  iso8601-duration 90.25
  date-duration 60
  moment 90.25
P
  iso8601-duration refused
  date-duration refused
  moment 0
P true
SEEN
