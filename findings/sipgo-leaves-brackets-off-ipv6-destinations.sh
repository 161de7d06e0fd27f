#!/usr/bin/env bash
# Package: github.com/emiago/sipgo 1.7.3 (Go 1.26), seen on 2026-11-30.
# Guess: a response goes to the address of the top Via (RFC 3261, 18.2.2), which Destination gives
#   as host and port that net.Dial takes. Blanks around the separators of a Via are allowed, as in
#   the first message of RFC 4475 (3.1.1.1). Of two contacts, Contact gives the first, as Via
#   does.
# Seen: for a Via with an IPv6 address, or one with received, Source and Destination have no
#   brackets: 2001:db8::2:5061 has too many colons for Go's net package, and no response reaches
#   the peer. For a request the brackets are there. With blanks in the Via, its host, port,
#   transport and branch are empty and the destination is ":5060". Contact gives the last one.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/emiago/sipgo v1.7.3
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"net"

	"github.com/emiago/sipgo/sip"
)

func main() {
	parser := sip.NewParser()
	for _, via := range []string{
		"SIP/2.0/UDP 192.0.2.1:5062;branch=z9hG4bK1;received=192.0.2.2;rport=5061",
		"SIP/2.0/UDP [2001:db8::1]:5062;branch=z9hG4bK1",
		"SIP/2.0/UDP [2001:db8::1]:5062;branch=z9hG4bK1;received=2001:db8::2;rport=5061",
		"SIP / 2.0 / UDP  192.0.2.1:5062 ; branch = z9hG4bK1",
	} {
		message, err := parser.ParseSIP([]byte("OPTIONS sip:pcscf@[2001:db8::9] SIP/2.0\r\n" +
			"Via: " + via + "\r\nFrom: <sip:a@ims.example>;tag=1\r\nTo: <sip:b@ims.example>\r\n" +
			"Call-ID: 1@ims.example\r\nCSeq: 1 OPTIONS\r\nMax-Forwards: 70\r\n" +
			"Contact: <sip:first@ims.example>, <sip:second@ims.example>\r\n\r\n"))
		if err != nil {
			panic(err)
		}
		request := message.(*sip.Request)
		top := request.Via()
		response := sip.NewResponseFromRequest(request, 200, "OK", nil)
		branch, _ := top.Params.Get("branch")
		fmt.Println(via)
		fmt.Printf("  host %q port %d transport %q branch %q\n",
			top.Host, top.Port, top.Transport, branch)
		_, _, err = net.SplitHostPort(response.Destination())
		fmt.Printf("  response to %s, error %v\n", response.Destination(), err)
		fmt.Printf("  request to %s, contact %s\n",
			request.Destination(), request.Contact().Address.User)
	}
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
SIP/2.0/UDP 192.0.2.1:5062;branch=z9hG4bK1;received=192.0.2.2;rport=5061
  host "192.0.2.1" port 5062 transport "UDP" branch "z9hG4bK1"
  response to 192.0.2.2:5061, error <nil>
  request to [2001:db8::9]:5060, contact second
SIP/2.0/UDP [2001:db8::1]:5062;branch=z9hG4bK1
  host "2001:db8::1" port 5062 transport "UDP" branch "z9hG4bK1"
  response to 2001:db8::1:5062, error address 2001:db8::1:5062: too many colons in address
  request to [2001:db8::9]:5060, contact second
SIP/2.0/UDP [2001:db8::1]:5062;branch=z9hG4bK1;received=2001:db8::2;rport=5061
  host "2001:db8::1" port 5062 transport "UDP" branch "z9hG4bK1"
  response to 2001:db8::2:5061, error address 2001:db8::2:5061: too many colons in address
  request to [2001:db8::9]:5060, contact second
SIP / 2.0 / UDP  192.0.2.1:5062 ; branch = z9hG4bK1
  host "" port 0 transport "" branch ""
  response to :5060, error <nil>
  request to [2001:db8::9]:5060, contact second
SEEN
