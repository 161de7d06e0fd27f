#!/usr/bin/env bash
# Package: github.com/facebook/time v0.0.0-20260822211804-f81aedc1c1e3, ptp/protocol (Go 1.26), seen
#   on 2026-11-30.
# Guess: a PTP message is read with its TLVs and written as it was, or without TLVs that are not
#   known, which IEEE 1588 tells a receiver to ignore (14.1). The list of a PATH_TRACE TLV is as
#   long as its length says.
# Seen: of a PATH_TRACE at the end of an Announce the last clock is lost, and the TLV is written
#   with the length of all. With another TLV behind it, that TLV's octets are read as one more
#   clock, and written twice. A Follow_Up loses its TLV, in which IEEE 802.1AS has the rate ratio,
#   and keeps messageLength. An Announce with an organization's TLV, as the profile of power grids
#   sends it, is refused as a whole. The interval 127, "none" in unicast messages (7.7.2), is
#   -2562047 hours.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/facebook/time v0.0.0-20260822211804-f81aedc1c1e3
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/binary"
	"fmt"

	"github.com/facebook/time/ptp/protocol"
)

type tlv struct {
	kind  uint16
	value []byte
}

// message returns a PTPv2 message of a kind with a body and TLVs.
func message(kind byte, body []byte, tlvs ...tlv) []byte {
	octets := append(make([]byte, 34), body...)
	octets[0], octets[1] = kind, 2
	for _, one := range tlvs {
		octets = binary.BigEndian.AppendUint16(octets, one.kind)
		octets = binary.BigEndian.AppendUint16(octets, uint16(len(one.value)))
		octets = append(octets, one.value...)
	}
	binary.BigEndian.PutUint16(octets[2:], uint16(len(octets)))
	return octets
}

func main() {
	path := tlv{8, []byte{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2}}
	zone := tlv{9, append(make([]byte, 15), 3, 'C', 'E', 'T', 0)}
	organization := tlv{3, append([]byte{0x00, 0x80, 0xC2, 0, 0, 1}, make([]byte, 22)...)}
	for _, one := range []struct {
		name   string
		octets []byte
	}{
		{"Announce with a path of 2", message(11, make([]byte, 30), path)},
		{"Announce with a path of 2 and a time zone", message(11, make([]byte, 30), path, zone)},
		{"Follow_Up with an organization's TLV", message(8, make([]byte, 10), organization)},
		{"Announce with an organization's TLV", message(11, make([]byte, 30), organization)},
	} {
		packet, err := protocol.DecodePacket(one.octets)
		if err != nil {
			fmt.Println(one.name+":", err)
			continue
		}
		if announce, ok := packet.(*protocol.Announce); ok {
			fmt.Println(one.name+":", announce.TLVs[0].(*protocol.PathTraceTLV).PathSequence)
		}
		// Bytes appends two octets, which PTP over UDP/IPv6 needs.
		written, err := protocol.Bytes(packet)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: messageLength %d, written %d\n", one.name,
			binary.BigEndian.Uint16(written[2:]), len(written)-2)
	}
	fmt.Println("127:", protocol.LogInterval(127).Duration())
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
Announce with a path of 2: [010101.0101.010101]
Announce with a path of 2: messageLength 84, written 76
Announce with a path of 2 and a time zone: [010101.0101.010101 020202.0202.020202 000900.1400.000000]
Announce with a path of 2 and a time zone: messageLength 108, written 116
Follow_Up with an organization's TLV: messageLength 76, written 44
Announce with an organization's TLV: reading TLV ORGANIZATION_EXTENSION (3) is not yet implemented
127: -2562047h47m16.854775808s
SEEN
