#!/usr/bin/env bash
# Package: github.com/packetcap/go-pcap 2024-05-28 with golang.org/x/net 0.25.0 (Go 1.26), seen on
#   2026-11-30.
# Guess: the package compiles the filters of pcap-filter(7), and what it does not know is an
#   error, as `vlan 100` is. `udp and not port 53` takes UDP alone, `esp` and `icmp` those
#   protocols.
# Seen: `esp`, `icmp` and `portrange 2000-3000` compile without an error to programs that take
#   each packet, and `udp and not port 53` to one that takes each of another port, of TCP and SCTP
#   too. `udp or sctp` takes UDP alone, so the NGAP of a capture is not there. `sctp` by itself is
#   a parse error, `sctp port 38412` is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require (
	github.com/packetcap/go-pcap v0.0.0-20240528124601-8c87ecf5dbc5
	golang.org/x/net v0.25.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/binary"
	"fmt"

	"github.com/packetcap/go-pcap/filter"
	"golang.org/x/net/bpf"
)

// Ethernet and IPv4 from 10.0.0.1 to 10.0.0.2, and 20 octets that begin with the ports.
func packet(protocol byte, source, destination uint16) []byte {
	ethernet := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0}
	ip := []byte{0x45, 0, 0, 40, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}
	payload := make([]byte, 20)
	binary.BigEndian.PutUint16(payload, source)
	binary.BigEndian.PutUint16(payload[2:], destination)
	return append(append(ethernet, ip...), payload...)
}

func main() {
	packets := []struct {
		name   string
		octets []byte
	}{
		{"NGAP", packet(132, 40000, 38412)}, {"GTP-U", packet(17, 40000, 2152)},
		{"DNS", packet(17, 40000, 53)}, {"HTTPS", packet(6, 40000, 443)},
		{"ESP", packet(50, 0x1234, 0x5678)}, {"ICMP", packet(1, 0x0800, 0)},
	}
	for _, text := range []string{
		"udp port 2152", "sctp port 38412", "host 10.0.0.1 and not port 443", "udp or sctp", "sctp",
		"udp and not port 53", "portrange 2000-3000", "esp", "icmp", "vlan 100",
	} {
		fmt.Printf("%s:", text)
		instructions, err := filter.NewExpression(text).Compile().Compile()
		if err != nil {
			fmt.Println(" error", err)
			continue
		}
		machine, err := bpf.NewVM(instructions)
		if err != nil {
			fmt.Println(" error", err)
			continue
		}
		for _, each := range packets {
			if taken, _ := machine.Run(each.octets); taken > 0 {
				fmt.Print(" ", each.name)
			}
		}
		fmt.Println()
	}
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
udp port 2152: GTP-U
sctp port 38412: NGAP
host 10.0.0.1 and not port 443: NGAP GTP-U DNS ESP ICMP
udp or sctp: GTP-U DNS
sctp: error parse error
udp and not port 53: NGAP GTP-U HTTPS ESP ICMP
portrange 2000-3000: NGAP GTP-U DNS HTTPS ESP ICMP
esp: NGAP GTP-U DNS HTTPS ESP ICMP
icmp: NGAP GTP-U DNS HTTPS ESP ICMP
vlan 100: error parse error
SEEN
