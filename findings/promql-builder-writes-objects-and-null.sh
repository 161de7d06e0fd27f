#!/usr/bin/env bash
# Package: @grafana/promql-builder 0.0.6 (npm, Node 20), seen on 2026-11-30.
# Guess: each builder of the library writes a query that Prometheus parses: a sign before an
#   expression, infinity and NaN as `Inf` and `NaN`, and in quotes the names with dots, which the
#   metrics of OpenTelemetry have in Prometheus 3.
# Seen: a sign is written before "[object Object]". Infinity and NaN are `null`. A metric and a
#   label with dots are written without quotes. None of these is a query, and there is no error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  @grafana/promql-builder@0.0.6 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import * as promql from "@grafana/promql-builder";

const sessions = promql.vector("fivegs_smffunction_sm_sessionnbr").label("snssai", "1-0000A1");
for (const [name, query] of Object.entries({
  topk: promql.topk(3, sessions),
  sum: promql.sum(sessions).by(["snssai"]),
  sign: promql.neg(sessions),
  infinity: promql.gt(sessions, promql.n(Infinity)),
  nan: promql.n(NaN),
  dots: promql.vector("http.server.request.duration").label("service.name", "amf"),
}))
  console.log(`${name}:`, query.toString());
JS
seen=$(node run.mjs)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
topk: topk(3, fivegs_smffunction_sm_sessionnbr{snssai="1-0000A1"})
sum: sum by(snssai) (fivegs_smffunction_sm_sessionnbr{snssai="1-0000A1"})
sign: -[object Object]
infinity: (fivegs_smffunction_sm_sessionnbr{snssai="1-0000A1"}) > (null)
nan: null
dots: http.server.request.duration{service.name="amf"}
SEEN
