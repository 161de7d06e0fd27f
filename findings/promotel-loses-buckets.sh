#!/usr/bin/env bash
# Package: @platformatic/promotel 0.2.2 (Node 20), seen on 2026-11-30.
# Guess: a histogram of the text format is converted to OTLP with its bounds, and with counts that
#   are no longer cumulative: bounds 0.1 and 1, counts 1, 1 and 1.
# Seen: one bucket without bounds, with the count of +Inf. Sum and count are right, so rates and
#   means look well, and each quantile that a collector's user asks for is made up. A sample whose
#   label value has a `}` is left out without a word.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-save --no-audit --no-fund @platformatic/promotel@0.2.2
cat >run.mjs <<'JS'
import assert from 'node:assert';
import { convert, parse } from '@platformatic/promotel';

const read = await parse(`# TYPE handshake_seconds histogram
handshake_seconds_bucket{peer="amf",le="0.1"} 1
handshake_seconds_bucket{peer="amf",le="1"} 2
handshake_seconds_bucket{peer="amf",le="+Inf"} 3
handshake_seconds_sum{peer="amf"} 5.55
handshake_seconds_count{peer="amf"} 3
# TYPE refused_total counter
refused_total{detail="no group"} 1
refused_total{detail="{no group}"} 1
`);
const [histogram, counter] = convert(read).resource_metrics[0].scope_metrics[0].metrics;
const [point] = histogram.histogram.data_points;
console.log('count', point.count, 'sum', point.sum);
console.log('bounds', point.explicit_bounds, 'counts', point.bucket_counts);
assert.deepEqual([point.count, point.sum], [3, 5.55]);
assert.deepEqual([point.explicit_bounds, point.bucket_counts], [[], [3]]);
const details = counter.sum.data_points.map((one) => one.attributes[0].value.string_value);
console.log('details', details);
assert.deepEqual(details, ['no group']);
JS
node run.mjs
echo "as stated"
