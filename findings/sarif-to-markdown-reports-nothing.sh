#!/usr/bin/env bash
# Package: @security-alert/sarif-to-markdown 1.11.1 (npm, Node 20), seen on 2026-11-30.
# Guess: a report has each result of a valid log with its own level and message. A result without
#   level has that of its rule, which is "warning" where the rule has none (SARIF 2.1.0, 3.27.10 and
#   3.50.3). `failOn: ["error"]` fails for an error.
# Seen: results of a rule without `defaultConfiguration` are left out: "Nothing here", and the run
#   does not fail, though the result is an error. The level of a result is never read: an error of a
#   rule whose default is note is a NOTE. Of several results of a rule, the places of all are there
#   and the message of the first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  @security-alert/sarif-to-markdown@1.11.1 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const { sarifToMarkdown } = require("@security-alert/sarif-to-markdown");

const result = (level, text, uri) => ({
  ruleId: "WEAK-KEX", level, message: { text },
  locations: [{ physicalLocation: { artifactLocation: { uri }, region: { startLine: 1 } } }],
});
const results = [
  result("error", "N2 has no ML-KEM", "n2.conf"), result("warning", "F1 has no rekey", "f1.conf"),
];
const convert = sarifToMarkdown({
  owner: "o", repo: "r", branch: "main", sourceRoot: "", simple: true, failOn: ["error"],
});
for (const [name, configuration] of [
  ["no default level", undefined], ["default level note", { level: "note" }],
]) {
  const rule = { id: "WEAK-KEX", defaultConfiguration: configuration };
  const [report] = convert({
    version: "2.1.0", runs: [{ tool: { driver: { name: "scan", rules: [rule] } }, results }],
  });
  console.log(`== ${name}, fails: ${report.shouldFail}`);
  const body = report.body.split("## Suppressed")[0];
  console.log(body.split("\n").map((line) => line.trimEnd()).filter(Boolean).join("\n"));
}
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
== no default level, fails: false
# Report
## Results
Nothing here.
== default level note, fails: false
# Report
## Results
- **[NOTE]** **[WEAK-KEX]**  `N2 has no ML-KEM`
    - https://github.com/o/r/blob/main/n2.conf#L1
    - https://github.com/o/r/blob/main/f1.conf#L1
SEEN
