#!/usr/bin/env bash
# Package: skip-qkd 1.0.0 (Python 3.11), seen on 2026-11-30.
# Guess: a client of SKIP, by which routers fetch quantum-safe keys (draft-cisco-skip), asks for
#   one key after the other, and reads each response that HTTP/1.1 allows, chunked ones included
#   (RFC 9112, 7.1).
# Seen: the first request closes the connection and keeps the socket, so the second one of the
#   same client ends in OSError (Bad file descriptor); the `with` block that the class has serves
#   for one key. A response in two chunks ends in JSONDecodeError, since the size of a chunk is
#   taken for a part of the JSON; in one chunk it is read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile skip-qkd==1.0.0
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem 2>errors
cat >run.py <<'PY'
import socket
import ssl
import threading
from skip_qkd import MTLSConfig, SkipQKDClient

KEY = b'{"keyId": "07bf", "key": "00ff00ff"}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

def chunks(*parts):
    return (HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
            + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n")

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
server = socket.create_server(("localhost", 0))

def answer(responses):
    for response in responses:
        with context.wrap_socket(server.accept()[0], server_side=True) as connection:
            connection.recv(4096)
            connection.sendall(response)

def ask(name, client):
    try:
        print(f"{name}: {client.request_key('router-2')}")
    except (OSError, ValueError) as error:
        print(f"{name}: {type(error).__name__}")

whole = HEAD + b"Content-Length: %d\r\n\r\n" % len(KEY) + KEY
responses = [whole, chunks(KEY), chunks(KEY[:20], KEY[20:])]
threading.Thread(target=answer, args=(responses,), daemon=True).start()
address = f"localhost:{server.getsockname()[1]}"
config = MTLSConfig("cert.pem", "cert.pem", "key.pem")
with SkipQKDClient(address, "router-1", config) as client:
    ask("first key", client)
    ask("second key", client)
ask("in one chunk", SkipQKDClient(address, "router-1", config))
ask("in two chunks", SkipQKDClient(address, "router-1", config))
PY
seen=$(venv/bin/python -W ignore run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
first key: {'keyId': '07bf', 'key': '00ff00ff'}
second key: OSError
in one chunk: {'keyId': '07bf', 'key': '00ff00ff'}
in two chunks: JSONDecodeError
SEEN
