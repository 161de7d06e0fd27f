#!/usr/bin/env bash
# Packages: github.com/google/gopacket v1.1.19, and gopacket v1.7.7 (github.com/gopacket/gopacket) as the
#   fork that does it right (Go 1.26), seen on 2026-11-30.
# Guess: a GTP-U packet with a PDU Session Container (TS 38.415) is written as it was read: header,
#   sequence number, extension header, and the IP packet of the user behind it (TS 29.281, 5.1).
# Seen: the google package reads it right and writes all behind the first 8 octets of the header behind
#   the user's packet: a reader takes the IP header for the sequence number and the extension, and
#   the tunnel carries what is left. The fork writes what was read.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require (
	github.com/google/gopacket v1.1.19
	github.com/gopacket/gopacket v1.7.7
)
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/hex"
	"fmt"

	google "github.com/google/gopacket"
	oldlayers "github.com/google/gopacket/layers"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

func main() {
	// QFI 9 in a PDU Session Container, and the first octets of an IP packet as the payload
	octets, err := hex.DecodeString("34ff000c00000001" + "00000085" + "01000900" + "4500beef")
	if err != nil {
		panic(err)
	}
	fmt.Printf("read:           %x\n", octets)
	fix := gopacket.SerializeOptions{FixLengths: true}
	var read layers.GTPv1U
	if err := read.DecodeFromBytes(octets, gopacket.NilDecodeFeedback); err != nil {
		panic(err)
	}
	fmt.Printf("container %x, payload %x\n", read.GTPExtensionHeaders[0].Content, read.Payload)
	buffer := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buffer, fix, &read, gopacket.Payload(read.Payload)); err != nil {
		panic(err)
	}
	fmt.Printf("gopacket:       %x\n", buffer.Bytes())
	var old oldlayers.GTPv1U
	if err := old.DecodeFromBytes(octets, google.NilDecodeFeedback); err != nil {
		panic(err)
	}
	oldBuffer := google.NewSerializeBuffer()
	if err := google.SerializeLayers(oldBuffer, google.SerializeOptions{FixLengths: true}, &old,
		google.Payload(old.Payload)); err != nil {
		panic(err)
	}
	fmt.Printf("google:         %x\n", oldBuffer.Bytes())
	plain := layers.GTPv1U{Version: 1, ProtocolType: 1, MessageType: 255, TEID: 1}
	if err := gopacket.SerializeLayers(buffer, fix, &plain, gopacket.Payload(read.Payload)); err != nil {
		panic(err)
	}
	fmt.Printf("gopacket, plain: %x\n", buffer.Bytes())
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
read:           34ff000c0000000100000085010009004500beef
container 0009, payload 4500beef
gopacket:       34ff000c0000000100000085010009004500beef
google:         34ff000c000000014500beef0000008501000900
gopacket, plain: 30ff0004000000014500beef
SEEN
