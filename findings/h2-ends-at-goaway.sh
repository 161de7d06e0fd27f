#!/usr/bin/env bash
# Package: h2 4.4.1 and httpx 0.28.1 (Python 3.11), seen on 2026-11-30.
#   Node 20's HTTP/2 client is asked the same.
# Guess: a GOAWAY without an error that names the request as the last one lets its response come:
#   streams up to the last one go on (RFC 9113, section 6.8). Servers send it when they are stopped.
# Seen: h2 takes its connection for closed. The response's next frame raises ProtocolError, and all
#   requests under way are lost; httpx passes it on. Node has the response.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile h2==4.4.1 httpx==0.28.1
cat >serve.py <<'PY'
import socket, struct, threading


def frame(kind, flags, stream, payload):
    length = struct.pack(">I", len(payload))[1:]
    return length + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def serve(stream):
    read = stream.makefile("rb")
    read.read(24)
    stream.sendall(frame(4, 0, 0, b""))  # SETTINGS
    while head := read.read(9):
        read.read(int.from_bytes(head[:3], "big"))
        if head[3] == 4 and not head[4] & 1:
            stream.sendall(frame(4, 1, 0, b""))  # its acknowledgement
        if head[3] == 1:
            asked = int.from_bytes(head[5:], "big")
            answer = frame(1, 4, asked, b"\x88")  # HEADERS, :status 200
            answer += frame(7, 0, 0, struct.pack(">II", asked, 0))  # GOAWAY, NO_ERROR
            stream.sendall(answer + frame(0, 1, asked, b"complete"))  # DATA, END_STREAM


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
PY
cat >run.py <<'PY'
import sys

import httpx

with httpx.Client(http1=False, http2=True) as client:
    try:
        print("httpx:", client.get(f"http://127.0.0.1:{sys.argv[1]}/").text)
    except httpx.TransportError as error:
        print(f"httpx: {type(error).__name__}: {error}")
PY
cat >run.mjs <<'JS'
import http2 from 'node:http2'

const session = http2.connect(`http://127.0.0.1:${process.argv[2]}`)
const request = session.request({ ':path': '/' })
let body = ''
request.on('data', (piece) => { body += piece })
request.on('error', (error) => console.log(`Node: ${error.message}`))
request.on('close', () => { console.log(`Node: ${body}`); session.destroy() })
JS
python3 serve.py >port &
server=$!
until [ -s port ]; do sleep 0.1; done
seen=$(venv/bin/python run.py "$(cat port)"; node run.mjs "$(cat port)")
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
httpx: LocalProtocolError: Invalid input ConnectionInputs.RECV_DATA in state ConnectionState.CLOSED
Node: complete
SEEN
