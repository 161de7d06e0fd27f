#!/usr/bin/env bash
# Package: sctp 1.0.0 (npm, Node 20), seen on 2026-11-30.
# Guess: I-DATA is read as RFC 8260, 2.1 has it: 16 bits of stream, 16 reserved, 32 of message
#   identifier, 32 of payload protocol identifier. FORWARD TSN names several streams (RFC 3758,
#   3.2). The text of an error cause ends where its length says (RFC 9260, 3.3.10).
# Seen: the message identifier is taken for 16 bits, so all behind it is read two octets early: the
#   protocol of an NGAP message is 458752 instead of 60 and its payload has two octets in front.
#   I-DATA is written in that layout too. Of two streams that FORWARD TSN skips, the first is read.
#   The text of a cause has the header of the next one at its end. A cause that the library does not
#   know takes the whole list along.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  sctp@1.0.0 >npm.log 2>&1 || { cat npm.log; exit 1; }
cat >run.js <<'JS'
const Chunk = require("sctp/lib/chunk");

function octets(...parts) {
  return Buffer.concat(parts.map((part) => Buffer.from(part, "hex")));
}

function chunk(type, flags, body) {
  const head = Buffer.from([type, flags, 0, 4 + body.length]);
  return Chunk.fromBuffer(Buffer.concat([head, body]));
}
// TSN 1, stream 2, message 7, protocol 60 and eight octets of payload.
const data = chunk(64, 3, octets("00000001", "0002", "0000", "00000007", "0000003c",
  "00150004000001aa"));
console.log("I-DATA: message", data.message_id, "protocol", data.ppid,
  "payload", data.user_data.toString("hex"));
const written = new Chunk("i_data", {
  tsn: 1, stream_id: 2, message_id: 7, ppid: 60, flags: { B: 1, E: 1 },
  user_data: Buffer.from("00150004000001aa", "hex"),
});
console.log("I-DATA written:", written.toBuffer().toString("hex"));
const forward = chunk(192, 0, octets("00000009", "0001", "0005", "0002", "0006"));
console.log("FORWARD TSN:", JSON.stringify(forward.streams));
const text = (value) => Buffer.from(value).toString("hex");
const causes = octets("000d", "0008", text("test"), "000c", "000a", text("manual"));
for (const cause of chunk(6, 0, causes).error_causes) {
  console.log("ABORT:", cause.cause, JSON.stringify(cause.additional_information ??
    cause.abort_reason));
}
// Invalid stream 5, then "request refused - no authorization" of RFC 5061.
const error = chunk(9, 0, octets("0001", "0008", "0005", "0000", "00a4", "0008", "00000001"));
console.log("ERROR:", error.error_causes);
JS
seen=$(node run.js)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
I-DATA: message 0 protocol 458752 payload 003c00150004000001aa
I-DATA written: 4003001a000000010002000000070000003c00150004000001aa0000
FORWARD TSN: {"stream_id":1,"ssn":5}
ABORT: PROTOCOL_VIOLATION "test\u0000\f\u0000\n"
ABORT: USER_INITIATED_ABORT "manual"
ERROR: undefined
SEEN
