#!/usr/bin/env bash
# Package: hello-tls 0.4.0 (Python 3.11), Go 1.26.8 and openssl 3.0.19 of Debian 12 as servers, seen
#   on 2026-11-30.
# Guess: a scanner that lists TLS versions and groups of a server, with the verdict
#   has_post_quantum, finds TLS 1.3, and X25519MLKEM768 of Go.
# Seen: its ClientHello has an empty key_share, so each server answers with a HelloRetryRequest (RFC
#   8446, 4.2.8), which counts as "no TLS 1.3". A server with TLS 1.3 alone supports nothing, one
#   with both versions TLS 1.2 alone, and none has post-quantum groups: no group of ML-KEM is
#   offered, those of Kyber drafts are.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill $server; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --no-compile hello-tls==0.4.0
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem \
  -subj /CN=amf1 -days 100 -out cert.pem 2>openssl.log || { cat openssl.log; exit 1; }
cat >main.go <<'GO'
package main

import (
	"crypto/tls"
	"fmt"
	"net"
)

func main() {
	certificate, err := tls.LoadX509KeyPair("cert.pem", "key.pem")
	if err != nil {
		panic(err)
	}
	for _, least := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		listener, err := tls.Listen("tcp", "127.0.0.1:0",
			&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: least})
		if err != nil {
			panic(err)
		}
		go func() {
			for {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				go func() {
					connection.(*tls.Conn).Handshake()
					connection.Close()
				}()
			}
		}()
		fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	}
	select {}
}
GO
go build -o server main.go
: >ports
./server >ports &
server=$!
until [ "$(wc -l <ports)" = 2 ]; do sleep 0.1; done
cat >run.py <<'PY'
import json
import subprocess
import sys

for name, port in zip(("Go, 1.2 and 1.3", "Go, 1.3 alone"), open("ports").read().split()):
    said = subprocess.run([sys.executable, "-m", "hello_tls", "-p", "TLS1_3,TLS1_2", "--no-certs",
        "--no-test-sni", "-t", "10", f"127.0.0.1:{port}"], capture_output=True, text=True, check=True)
    protocols = json.loads(said.stdout)["protocols"]
    found = [name for name, value in protocols.items() if value]
    post_quantum = [value["has_post_quantum"] for value in protocols.values() if value]
    print(f"{name}: hello-tls finds {found}, post-quantum {post_quantum}")
    reply = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-brief"],
        input="", capture_output=True, text=True)
    print(f"{name}:", next(line for line in reply.stderr.splitlines() if "Protocol" in line))
PY
seen=$(venv/bin/python run.py)
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Go, 1.2 and 1.3: hello-tls finds ['TLS1_2'], post-quantum [None]
Go, 1.2 and 1.3: Protocol version: TLSv1.3
Go, 1.3 alone: hello-tls finds [], post-quantum []
Go, 1.3 alone: Protocol version: TLSv1.3
SEEN
