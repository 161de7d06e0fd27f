#!/usr/bin/env bash
# Package: parse-prometheus-text-format 1.1.1 (Node 20), seen on 2026-11-30.
# Guess: a histogram with two label sets is read as two entries with their labels, as a counter is,
#   each with buckets, sum and count.
# Seen: there is one entry without labels. Its buckets are those of the label set that stands last,
#   sum and count are gone. With durations by peer or by network function, the last peer of the page
#   stands for all of them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-save --no-audit --no-fund parse-prometheus-text-format@1.1.1
cat >run.mjs <<'JS'
import assert from 'node:assert';
import read from 'parse-prometheus-text-format';

const set = (peer, low, all) => `handshake_seconds_bucket{peer="${peer}",le="0.1"} ${low}
handshake_seconds_bucket{peer="${peer}",le="+Inf"} ${all}
handshake_seconds_sum{peer="${peer}"} ${all / 10}
handshake_seconds_count{peer="${peer}"} ${all}
`;
const [counter, histogram] = read(`# TYPE refused_total counter
refused_total{peer="amf"} 1
refused_total{peer="smf"} 2
# TYPE handshake_seconds histogram
${set('amf', 90, 100)}${set('smf', 1, 2)}`);
console.log(JSON.stringify(counter.metrics));
assert.deepEqual(counter.metrics.map((one) => one.labels.peer), ['amf', 'smf']);
console.log(JSON.stringify(histogram.metrics));
assert.deepEqual(histogram.metrics, [{ buckets: { 0.1: '1', '+Inf': '2' } }]);
JS
node run.mjs
echo "as stated"
