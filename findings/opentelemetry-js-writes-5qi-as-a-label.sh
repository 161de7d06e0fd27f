#!/usr/bin/env bash
# Package: @opentelemetry/exporter-prometheus 0.301.0 with sdk-metrics 3.1.0 (Node 20);
#   prometheus_client 0.26.0 reads the page (Python 3.11); seen on 2026-11-30.
# Guess: names of attributes become names of labels that Prometheus accepts, as the name of a metric
#   does (5g.ratio is _5g_ratio), and attributes whose names become the same are joined with ";"
#   (OpenTelemetry, Prometheus compatibility).
# Seen: dots become underscores, but a digit at the start stays: the attribute 5qi, which is what TS
#   23.501 calls it, is written as it is, and is no label name. net.peer and net_peer are written as
#   two labels of one name, and an attribute "le" of a histogram stands beside the bucket's. A
#   reader refuses each of these pages as a whole, so one attribute ends the scrape of all metrics
#   of a function.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile prometheus_client==0.26.0
npm install --silent --no-audit --no-fund --ignore-scripts \
  @opentelemetry/exporter-prometheus@0.301.0 @opentelemetry/sdk-metrics@3.1.0 \
  @opentelemetry/api@1.10.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const fs = require("fs");
const { PrometheusSerializer } = require("@opentelemetry/exporter-prometheus");
const { MeterProvider, MetricReader } = require("@opentelemetry/sdk-metrics");

class Reader extends MetricReader {
  async onForceFlush() {}
  async onShutdown() {}
}

async function page(name, record) {
  const reader = new Reader();
  record(new MeterProvider({ readers: [reader] }).getMeter("core"));
  const { resourceMetrics } = await reader.collect();
  fs.writeFileSync(name, new PrometheusSerializer().serialize(resourceMetrics));
}

(async () => {
  await page("plain", (meter) => meter.createCounter("flows").add(1, { "slice.sst": 1 }));
  await page("5qi", (meter) => meter.createCounter("flows").add(1, { "5qi": 9, sst: 1 }));
  await page("peers", (meter) =>
    meter.createCounter("flows").add(1, { "net.peer": "amf", net_peer: "smf" }));
  await page("le", (meter) => meter.createHistogram("setup").record(1, { le: "ru-1" }));
  await page("metric", (meter) => meter.createGauge("5g.ratio").record(1));
})();
JS
cat >read.py <<'PY'
from prometheus_client.parser import text_string_to_metric_families

for name in ("plain", "5qi", "peers", "le", "metric"):
    with open(name) as file:
        text = file.read()
    line = [line for line in text.splitlines() if not line.startswith(("#", "target_info"))][0]
    print(line.replace('otel_scope_name="core"', "..."))
    try:
        print("  families:", len(list(text_string_to_metric_families(text))))
    except ValueError as error:
        print("  refused:", error)
PY
seen=$(node run.js && venv/bin/python read.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
flows_total{slice_sst="1",...} 1
  families: 2
flows_total{5qi="9",sst="1",...} 1
  refused: Invalid labels: 5qi="9",sst="1",otel_scope_name="core"
flows_total{net_peer="amf",net_peer="smf",...} 1
  refused: Invalid labels: net_peer="amf",net_peer="smf",otel_scope_name="core"
setup_count{le="ru-1",...} 1
  refused: Invalid labels: le="ru-1",otel_scope_name="core",le="0"
_5g_ratio{...} 1
  families: 2
SEEN
