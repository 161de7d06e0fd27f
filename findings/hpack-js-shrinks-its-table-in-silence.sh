#!/usr/bin/env bash
# Package: hpack.js 2.1.6 (Node 20, whose http2 is the peer), seen on 2026-11-30.
# Guess: a compressor that is told of a smaller table by the peer's settings says so at the start of
#   the next block, as RFC 7541, 4.2, demands: "must occur at the beginning of the first header
#   block following the change".
# Seen: updateTableSize writes the new size only if it is the largest that is allowed. For a smaller
#   one nothing is written and the table shrinks in silence: a server with a table of 1024 octets
#   ends the whole connection with COMPRESSION_ERROR. With the three octets of the update in front,
#   the same block is answered.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts hpack.js@2.1.6 >npm.log 2>&1 ||
  { cat npm.log; exit 1; }
cat >run.js <<'JS'
const http2 = require("http2");
const net = require("net");
const { compressor } = require("hpack.js");

function frame(type, flags, stream, body = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

function ask(title, size, front) {
  return new Promise((resolve) => {
    const server = http2.createServer({ settings: { headerTableSize: size } });
    server.on("stream", (stream) => stream.respond({ ":status": 200 }, { endStream: true }));
    server.on("sessionError", () => {});
    server.listen(0, "127.0.0.1", () => {
      const socket = net.connect(server.address().port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      socket.write(frame(4, 0, 0));
      let octets = Buffer.alloc(0);
      socket.on("data", (data) => {
        octets = Buffer.concat([octets, data]);
        while (octets.length >= 9 && octets.length >= 9 + octets.readUIntBE(0, 3)) {
          const length = octets.readUIntBE(0, 3);
          const [type, flags] = [octets[3], octets[4]];
          const body = octets.subarray(9, 9 + length);
          octets = octets.subarray(9 + length);
          if (type === 4 && !(flags & 1)) {
            const encoder = compressor.create({ table: { maxSize: 4096 } });
            encoder.updateTableSize(size);
            const written = encoder.read();
            encoder.write([
              { name: ":method", value: "GET" }, { name: ":scheme", value: "http" },
              { name: ":path", value: "/nnrf-disc/v1/nf-instances" },
              { name: ":authority", value: "nrf.example" },
            ]);
            const block = Buffer.concat([written || Buffer.alloc(0), front, encoder.read()]);
            console.log(`${title}: ${written ? written.toString("hex") : "nothing"} is written`);
            socket.write(frame(4, 1, 0));
            socket.write(frame(1, 5, 1, block));
          } else if (type === 1) {
            console.log("  the request is answered");
            socket.destroy();
            server.close();
            resolve();
          } else if (type === 7) {
            console.log("  GOAWAY, error", body.readUInt32BE(4));
            socket.destroy();
            server.close();
            resolve();
          }
        }
      });
    });
  });
}

(async () => {
  await ask("table of 4096 octets", 4096, Buffer.alloc(0));
  await ask("table of 1024 octets", 1024, Buffer.alloc(0));
  await ask("table of 1024 octets, update in front", 1024, Buffer.from("3fe107", "hex"));
})();
JS
seen=$(timeout 60 node run.js 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
table of 4096 octets: 3fe11f is written
  the request is answered
table of 1024 octets: nothing is written
  GOAWAY, error 9
table of 1024 octets, update in front: nothing is written
  the request is answered
SEEN
