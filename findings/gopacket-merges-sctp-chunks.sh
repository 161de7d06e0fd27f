#!/usr/bin/env bash
# Packages: github.com/google/gopacket 1.1.19, github.com/gopacket/gopacket 1.3.1 (Go 1.26), seen on
#   2026-11-30.
# Guess: a packet with two DATA chunks, as SCTP bundles NGAP messages, has two SCTPData layers, and
#   the payload of each is its message.
# Seen: google/gopacket has one layer. Its payload is the first message, its padding, the second
#   chunk with its header, and lacks as many octets at the end as the first was padded. The fork
#   gopacket/gopacket has two layers: the payload of the first is the second chunk, that of the
#   second is empty, and there is no payload layer; messages are in LayerContents, from octet 16.
#   One DATA chunk alone is read right by google/gopacket, so a test with single messages passes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'GO'
package main

import (
	"encoding/binary"
	"fmt"

	"MODULE"
	"MODULE/layers"
)

func data(number uint32, message string) []byte {
	length := 16 + len(message)
	chunk := make([]byte, (length+3)/4*4)
	chunk[1] = 3
	binary.BigEndian.PutUint16(chunk[2:], uint16(length))
	binary.BigEndian.PutUint32(chunk[4:], number)
	binary.BigEndian.PutUint32(chunk[12:], 60) // NGAP
	copy(chunk[16:], message)
	return chunk
}

func main() {
	head := []byte{0x96, 0x0c, 0x96, 0x0c, 0, 0, 0, 1, 0, 0, 0, 0}
	packet := append(append(head, data(1, "first")...), data(2, "second")...)
	for _, layer := range gopacket.NewPacket(packet, layers.LayerTypeSCTP, gopacket.Default).Layers() {
		if layer.LayerType() == layers.LayerTypeSCTPData {
			fmt.Printf("%d %q\n", len(layer.LayerContents()), layer.LayerPayload())
		}
	}
}
GO
second='\x00\x03\x00\x16\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00<secon'
seen() {
  mkdir "$3"
  sed "s#MODULE#$1#" main.go >"$3/main.go"
  (cd "$3" && go mod init found && go get "$1@$2") 2>/dev/null
  (cd "$3" && go run .)
}
found=$(seen github.com/google/gopacket v1.1.19 google)
printf 'google/gopacket:\n%s\n' "$found"
test "$found" = "16 \"first\\x00\\x00\\x00$second\""
found=$(seen github.com/gopacket/gopacket v1.3.1 fork)
printf 'gopacket/gopacket:\n%s\n' "$found"
test "$found" = "24 \"${second}d\\x00\\x00\""$'\n''24 ""'
echo "as stated"
