#!/usr/bin/env bash
# Package: prometheus-query 3.5.1 (Node 20), seen on 2026-11-30.
# Guess: sample values of Prometheus's HTTP API, which are strings, become numbers: "+Inf" and
#   "-Inf" are infinite, "NaN" is NaN. A scalar is a sample as well, and a native histogram is read
#   or refused with a reason.
# Seen: "+Inf" and "-Inf" are NaN. Refused handshakes divided by none, or a time to expiry without
#   bound, is then neither above nor below a limit: each comparison is false. A scalar stays a pair
#   of a number and a string, so scalar + 1 joins text. One native histogram in a result ends the
#   whole query in a TypeError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  prometheus-query@3.5.1 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const http = require("http");
const { PrometheusDriver } = require("prometheus-query");

const vector = (...result) => ({ resultType: "vector", result });
const sample = (text) => ({ metric: {}, value: [1796000000, text] });
const histogram = [1796000000, { count: "5", sum: "2", buckets: [[0, "0.1", "0.2", "5"]] }];
const answers = {
  ratio: vector(...["+Inf", "-Inf", "NaN", "2"].map(sample)),
  limit: { resultType: "scalar", result: [1796000000, "3"] },
  durations: vector(sample("1"), { metric: {}, histogram }),
};
const server = http.createServer((request, response) => {
  const query = new URL(request.url, "http://localhost").searchParams.get("query");
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ status: "success", data: answers[query] }));
});
server.listen(0, "127.0.0.1", async () => {
  const endpoint = `http://127.0.0.1:${server.address().port}`;
  const client = new PrometheusDriver({ endpoint });
  const { result } = await client.instantQuery("ratio");
  for (const { value } of result) console.log(value.value, "above 1:", value.value > 1);
  const scalar = (await client.instantQuery("limit")).result;
  console.log("scalar", JSON.stringify(scalar), scalar[1] + 1);
  await client.instantQuery("durations").catch((error) => console.log("histogram:", error.name));
  server.close();
});
JS
seen=$(env -u http_proxy -u HTTP_PROXY node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
NaN above 1: false
NaN above 1: false
NaN above 1: false
2 above 1: true
scalar [1796000000,"3"] 31
histogram: TypeError
SEEN
