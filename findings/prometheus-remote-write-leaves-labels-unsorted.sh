#!/usr/bin/env bash
# Package: prometheus-remote-write 0.5.1 (npm, Node 20), seen on 2026-11-30.
# Guess: a series is sent as Prometheus' remote write 1.0 demands: labels sorted by name, the headers
#   Content-Encoding: snappy and X-Prometheus-Remote-Write-Version, and the time that a sample has.
# Seen: labels stay in the order they were given in, common ones in front, and neither header is sent,
#   so a receiver that checks either refuses the series. A sample of time 0 gets the time of sending.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts prometheus-remote-write@0.5.1 \
  snappyjs@0.7.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const http = require("http");
const snappy = require("snappyjs");
const { deserialize, pushTimeseries } = require("prometheus-remote-write");

const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", async () => {
    for (const name of ["content-type", "content-encoding", "x-prometheus-remote-write-version"]) {
      console.log(`  ${name}: ${request.headers[name]}`);
    }
    const { timeseries } = await deserialize(snappy.uncompress(Buffer.concat(parts)));
    for (const { labels, samples } of timeseries) {
      console.log("  labels:", labels.map(({ name, value }) => `${name}=${value}`).join(" "));
      console.log("  times:", samples.map(({ timestamp }) => Number(timestamp)).map((time) =>
        (time === 1700000000000 ? time : time > 1.7e12 ? "now" : time)).join(" "));
    }
    response.writeHead(204).end();
  });
});
server.listen(0, "127.0.0.1", async () => {
  const options = {
    url: `http://127.0.0.1:${server.address().port}/api/v1/write`, labels: { site: "north" }, fetch,
  };
  const samples = [{ value: 1, timestamp: 1700000000000 }, { value: 2, timestamp: 0 }];
  const labels = { zone: "b", __name__: "amf_sessions", amf: "1" };
  console.log("given:", Object.keys(labels).join(" "), "and site for all");
  await pushTimeseries({ labels, samples }, options);
  server.close();
  server.closeAllConnections();
});
JS
seen=$(timeout 300 node run.js 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
given: zone __name__ amf and site for all
  content-type: application/x-protobuf
  content-encoding: undefined
  x-prometheus-remote-write-version: undefined
  labels: site=north zone=b __name__=amf_sessions amf=1
  times: 1700000000000 now
SEEN
