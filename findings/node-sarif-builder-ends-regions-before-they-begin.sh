#!/usr/bin/env bash
# Package: node-sarif-builder 5.0.0 (Node 20), seen on 2026-11-30.
# Guess: a result that names a line alone has the whole line as its region, and one with a start
#   column the rest of the line: absent columns mean that (SARIF 2.1.0, 3.30.6 to 3.30.8). The
#   language of a file is that of its extension: .h is C, .cs C#, .pl Perl (3.24.10).
# Seen: an absent end column is written as 1. A line alone becomes the empty region in front of its
#   first character, and a region from column 20 ends at column 1 of the same line. Artifacts say
#   that .h is Objective-C, .cs is Smalltalk, .pl is Prolog and .sql is SQLPL.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts node-sarif-builder@5.0.0 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const builders = require("node-sarif-builder");

const run = new builders.SarifRunBuilder().initSimple({ toolDriverName: "scan" });
for (const [file, place] of [
  ["a.h", { startLine: 5 }],
  ["b.cs", { startLine: 5, startColumn: 20 }],
  ["c.pl", { startLine: 5, startColumn: 20, endColumn: 30 }],
  ["d.sql", { startLine: 5, endLine: 7 }],
]) {
  run.addResult(new builders.SarifResultBuilder().initSimple({
    level: "warning", messageText: "RSA", ruleId: "R1", fileUri: file, ...place,
  }));
}
const log = new builders.SarifBuilder();
log.addRun(run);
const [written] = JSON.parse(log.buildSarifJsonString()).runs;
for (const { locations: [{ physicalLocation: place }] } of written.results) {
  const artifact = written.artifacts[place.artifactLocation.index];
  const { startLine, startColumn, endLine, endColumn } = place.region;
  console.log(`${place.artifactLocation.uri}: ${startLine}:${startColumn} to`,
    `${endLine}:${endColumn}, ${artifact.sourceLanguage}`);
}
JS
seen=$(node run.js 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
a.h: 5:1 to 5:1, Objective-C
b.cs: 5:20 to 5:1, Smalltalk
c.pl: 5:20 to 5:30, Prolog
d.sql: 5:1 to 7:1, SQLPL
SEEN
