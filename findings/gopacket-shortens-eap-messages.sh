#!/usr/bin/env bash
# Packages: gopacket v1.7.7 (github.com/gopacket/gopacket) and github.com/google/gopacket v1.1.19 (Go
#   1.26), seen on 2026-11-30.
# Guess: with FixLengths the length of an EAP message is that of the whole message (RFC 3748, 4: "code,
#   identifier, length, and data fields"), and that of EAPOL is that of its body.
# Seen: the length of EAP is written without the header's 4 octets: an identity of one letter has length
#   2, and the package's own reader refuses the message. The length of EAPOL stays 0. Reading is right:
#   a Nak in a padded frame has its one method.
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
	"fmt"

	google "github.com/google/gopacket"
	oldlayers "github.com/google/gopacket/layers"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

func main() {
	buffer := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buffer, gopacket.SerializeOptions{FixLengths: true},
		&layers.EAPOL{Version: 3, Type: layers.EAPOLTypeEAP},
		&layers.EAP{Code: layers.EAPCodeResponse, Id: 7, Type: 1, TypeData: []byte("a")})
	fmt.Printf("gopacket: %x %v\n", buffer.Bytes(), err)
	var read layers.EAP
	fmt.Println("  read:", read.DecodeFromBytes(buffer.Bytes()[4:], gopacket.NilDecodeFeedback))
	old := google.NewSerializeBuffer()
	err = google.SerializeLayers(old, google.SerializeOptions{FixLengths: true},
		&oldlayers.EAPOL{Version: 3, Type: oldlayers.EAPOLTypeEAP},
		&oldlayers.EAP{Code: oldlayers.EAPCodeResponse, Id: 7, Type: 1, TypeData: []byte("a")})
	fmt.Printf("google:   %x %v\n", old.Bytes(), err)
	nak := append([]byte{3, 0, 0, 6, 2, 1, 0, 6, 3, 50}, make([]byte, 36)...)
	for _, padded := range []bool{false, true} {
		octets := nak[:10]
		if padded {
			octets = nak
		}
		packet := gopacket.NewPacket(octets, layers.LayerTypeEAPOL, gopacket.Default)
		layer := packet.Layer(layers.LayerTypeEAP).(*layers.EAP)
		fmt.Printf("Nak, padded %t: length %d, methods %d\n", padded, layer.Length,
			len(layer.TypeData))
	}
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
gopacket: 03000000020700020161 <nil>
  read: invalid EAP length 2
google:   03000000020700020161 <nil>
Nak, padded false: length 6, methods 1
Nak, padded true: length 6, methods 1
SEEN
