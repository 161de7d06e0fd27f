#!/usr/bin/env bash
# Package: github.com/Juniper/go-netconf v0.1.1 (Go 1.26), seen on 2026-11-30.
# Guess: a reply with <ok/> (RFC 6241, 4.4) has its field Ok set, and its Info is what error-info holds.
#   A capability of a hello is its URI, however the hello is indented.
# Seen: Ok looks for an element of that name with a capital letter: it is false for each <ok/>. Info is
#   the whole of the error, tag and severity again. Indented capabilities keep their line breaks, so a
#   comparison with the URI fails: the server seems to lack what it has.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/Juniper/go-netconf v0.1.1
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/xml"
	"fmt"
	"slices"

	"github.com/Juniper/go-netconf/netconf"
)

const base = "urn:ietf:params:netconf:base:1.0"

// lab answers each request with the same reply.
type lab struct{ hello, reply string }

func (l lab) Send([]byte) error                       { return nil }
func (l lab) Receive() ([]byte, error)                { return []byte(l.reply), nil }
func (l lab) Close() error                            { return nil }
func (l lab) SendHello(*netconf.HelloMessage) error   { return nil }
func (l lab) ReceiveHello() (*netconf.HelloMessage, error) {
	hello := &netconf.HelloMessage{}
	return hello, xml.Unmarshal([]byte(l.hello), hello)
}

func main() {
	const space = `xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"`
	for _, blank := range []string{"", "\n    "} {
		hello := "<hello " + space + "><capabilities><capability>" + blank + base + blank +
			"</capability></capabilities><session-id>4</session-id></hello>"
		session := netconf.NewSession(lab{hello: hello,
			reply: "<rpc-reply " + space + ` message-id="1"><ok/></rpc-reply>`})
		fmt.Printf("capabilities %q, has base: %t\n", session.ServerCapabilities,
			slices.Contains(session.ServerCapabilities, base))
		reply, err := session.Exec(netconf.MethodLock("candidate"))
		fmt.Println("  <ok/>: Ok is", reply.Ok, "error is", err)
	}
	session := netconf.NewSession(lab{hello: "<hello " + space + "/>", reply: "<rpc-reply " + space +
		"><rpc-error><error-tag>lock-denied</error-tag><error-severity>error</error-severity>" +
		"<error-info><session-id>7</session-id></error-info></rpc-error></rpc-reply>"})
	reply, err := session.Exec(netconf.MethodLock("candidate"))
	fmt.Println("lock-denied:", err, "\n  Info is", reply.Errors[0].Info)
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
capabilities ["urn:ietf:params:netconf:base:1.0"], has base: true
  <ok/>: Ok is false error is <nil>
capabilities ["\n    urn:ietf:params:netconf:base:1.0\n    "], has base: false
  <ok/>: Ok is false error is <nil>
lock-denied: netconf rpc [error] '' 
  Info is <error-tag>lock-denied</error-tag><error-severity>error</error-severity><error-info><session-id>7</session-id></error-info>
SEEN
