#!/usr/bin/env bash
# Package: node-netflowv9 0.2.16 (Node 20), seen on 2026-11-30.
# Guess: a template is one of its observation domain (RFC 3954, 5.1: unique for an Observation
#   Domain, which the Source ID names), so two line cards of one router may use template 256 for two
#   layouts. In version 5, the upper two bits of the sampling interval are the mode of the sampling.
#   A field of 1 octet is read, and a field that occurs twice (the labels of two hops) has two
#   values.
# Seen: templates are kept by address and port alone: data of the first domain are read by the
#   template of the second, and 66051 octets are an address. One packet in 1000 is an interval of
#   17384. mplsTopLabelType is left out, as the reader takes it for an address of 4 octets. Of two
#   fields of one kind the last is kept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts node-netflowv9@0.2.16 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const collector = require("node-netflowv9")(() => {});
collector.server.close();
const router = { address: "192.0.2.1", port: 9995 };

const u16 = (...values) => Buffer.concat(values.map((value) => {
  const octets = Buffer.alloc(2);
  octets.writeUInt16BE(value);
  return octets;
}));
const set = (kind, ...parts) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([u16(kind, body.length + 4), body]);
};
const read = (domain, ...sets) => {
  const header = Buffer.alloc(20);
  header.writeUInt16BE(9);
  header.writeUInt16BE(sets.length, 2);
  header.writeUInt32BE(domain, 16);
  return collector.nfPktDecode(Buffer.concat([header, ...sets]), router).flows;
};
const template = (...fields) => set(0, u16(256, fields.length / 2, ...fields));

const octets = Buffer.from([0, 1, 2, 3, 0, 0, 0, 9]);
read(1, template(1, 4, 2, 4));
console.log("domain 1:", { ...read(1, set(256, octets))[0] });
read(2, template(8, 4, 12, 4));
console.log("domain 1, after a template of domain 2:", { ...read(1, set(256, octets))[0] });
read(3, template(46, 1, 1, 4, 2, 4, 2, 4, 1, 3));
console.log("label type and two fields twice:",
  { ...read(3, set(256, Buffer.from([5, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 8])))[0] });

const old = Buffer.alloc(24);
old.writeUInt16BE(5);
old.writeUInt16BE(0x4000 | 1000, 22);
console.log("version 5, one in 1000:",
  collector.nfPktDecode(old, router).header.sampling_interval);
JS
seen=$(node --no-deprecation run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
domain 1: { in_bytes: 66051, in_pkts: 9, fsId: 256 }
domain 1, after a template of domain 2: { ipv4_src_addr: '0.1.2.3', ipv4_dst_addr: '5.0.0.9', fsId: 256 }
label type and two fields twice: { in_bytes: 8, in_pkts: 2, fsId: 256 }
version 5, one in 1000: 17384
SEEN
