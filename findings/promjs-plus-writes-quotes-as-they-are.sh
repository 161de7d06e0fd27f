#!/usr/bin/env bash
# Packages: promjs-plus 0.5.4 and prometheus-client 0.1.1, with parse-prometheus-text-format 1.1.1 as the
#   reader (npm, Node 20), seen on 2026-11-30.
# Guess: a quotation mark, a backslash and a line break in the value of a label are escaped, as the text
#   format of Prometheus demands (\", \\ and \n), so the distinguished name of a certificate can be a
#   label; the buckets of a histogram come in the order of their bounds.
# Seen: both write the value as it is: O="Core, Inc" ends the value at its second quotation mark, and
#   the reader refuses the page or reads another value; a backslash takes the next character along.
#   Of promjs-plus, bounds that are whole numbers and +Inf come in front of 0.1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts promjs-plus@0.5.4 \
  prometheus-client@0.1.1 parse-prometheus-text-format@1.1.1 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.mjs <<'JS'
import { createRequire } from "node:module";
import parse from "parse-prometheus-text-format";

const require = createRequire(import.meta.url);
const { Registry } = require("promjs-plus");
const Client = require("prometheus-client");

function show(name, text) {
  const line = text.split("\n").filter((each) => each.startsWith("expiry")).join("\n");
  let read;
  try {
    read = JSON.stringify(parse(text).map(({ metrics }) => metrics[0].labels));
  } catch (error) {
    read = error.name;
  }
  console.log(`${name}: ${line}\n  read: ${read}`);
}

for (const subject of ["CN=amf1", 'O="Core, Inc"', "CN=a\\, b", "CN=a\\nb"]) {
  const registry = new Registry();
  registry.create("gauge", "expiry", "days").set(7, { subject });
  show("promjs-plus", registry.metrics());
  const client = new Client({ registry: new Client.Registry() });
  client.newGauge({ name: "expiry", help: "days" }).set({ subject }, 7);
  let page = "";
  client.metricsFunc()({}, { writeHead() {}, write(text) { page += text; }, end() {} });
  show("prometheus-client", page);
}
const registry = new Registry();
const delay = registry.create("histogram", "delay", "seconds", [0.1, 0.5, 1]);
delay.observe(0.3);
console.log(registry.metrics().match(/le="[^"]*"} \d/g).join(", "));
JS
seen=$(node run.mjs 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
promjs-plus: expiry{subject="CN=amf1"} 7
  read: [{"subject":"CN=amf1"}]
prometheus-client: expiry{subject="CN=amf1"} 7
  read: [{"subject":"CN=amf1"}]
promjs-plus: expiry{subject="O="Core, Inc""} 7
  read: InvalidLineError
prometheus-client: expiry{subject="O="Core, Inc""} 7
  read: InvalidLineError
promjs-plus: expiry{subject="CN=a\, b"} 7
  read: [{"subject":"CN=a\\, b"}]
prometheus-client: expiry{subject="CN=a\, b"} 7
  read: [{"subject":"CN=a\\, b"}]
promjs-plus: expiry{subject="CN=a\nb"} 7
  read: [{"subject":"CN=a\nb"}]
prometheus-client: expiry{subject="CN=a\nb"} 7
  read: [{"subject":"CN=a\nb"}]
le="1"} 1, le="+Inf"} 1, le="0.1"} 0, le="0.5"} 1
SEEN
