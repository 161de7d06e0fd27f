#!/usr/bin/env bash
# Package: layeh.com/radius v0.0.0-20231213012653-1006025d24f8 (Go 1.26), seen on 2026-11-30.
# Guess: reading an attribute leaves the packet as it is, and Set puts one value in place of what was
#   there, as RFC packages of this module do for User-Name: "Set" twice is one value.
# Seen: reading Tunnel-Type or Tunnel-Medium-Type writes a zero over the tag in the packet: the second
#   reading says tag 0, and a proxy that has looked at the packet sends both tunnels without their
#   tags. EAPMessage_Set adds to what is there: an answer that was set to a failure after a request
#   carries the octets of both, one behind the other.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require layeh.com/radius v0.0.0-20231213012653-1006025d24f8
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"layeh.com/radius"
	"layeh.com/radius/rfc2865"
	"layeh.com/radius/rfc2868"
	"layeh.com/radius/rfc2869"
)

func show(title string, packet *radius.Packet) {
	fmt.Printf("%s:", title)
	for _, each := range packet.Attributes {
		fmt.Printf(" %d=%x", each.Type, []byte(each.Attribute))
	}
	fmt.Println()
}

func main() {
	secret := []byte("lab")
	sent := radius.New(radius.CodeAccessAccept, secret)
	for tag := byte(1); tag <= 2; tag++ {
		rfc2868.TunnelType_Add(sent, tag, rfc2868.TunnelType_Value_ESP)
		rfc2868.TunnelPrivateGroupID_AddString(sent, tag, fmt.Sprint("10", tag))
	}
	octets, err := sent.MarshalBinary()
	if err != nil {
		panic(err)
	}
	packet, err := radius.Parse(octets, secret)
	if err != nil {
		panic(err)
	}
	show("received", packet)
	for range 2 {
		tags, values, err := rfc2868.TunnelType_Gets(packet)
		fmt.Println("tags of Tunnel-Type:", tags, values, err)
	}
	tags, values, err := rfc2868.TunnelPrivateGroupID_GetStrings(packet)
	fmt.Println("tags of Tunnel-Private-Group-ID:", tags, values, err)
	show("sent on", packet)

	answer := radius.New(radius.CodeAccessReject, secret)
	rfc2865.UserName_SetString(answer, "a")
	rfc2865.UserName_SetString(answer, "b")
	rfc2869.EAPMessage_Set(answer, []byte{1, 7, 0, 5, 1})
	rfc2869.EAPMessage_Set(answer, []byte{4, 7, 0, 4})
	show("set twice", answer)
	fmt.Printf("EAP-Message: %x\n", rfc2869.EAPMessage_Get(answer))
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
received: 64=01000009 81=01313031 64=02000009 81=02313032
tags of Tunnel-Type: [1 2] [ESP ESP] <nil>
tags of Tunnel-Type: [0 0] [ESP ESP] <nil>
tags of Tunnel-Private-Group-ID: [1 2] [101 102] <nil>
sent on: 64=00000009 81=01313031 64=00000009 81=02313032
set twice: 1=62 79=0107000501 79=04070004
EAP-Message: 010700050104070004
SEEN
