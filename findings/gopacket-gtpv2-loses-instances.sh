#!/usr/bin/env bash
# Package: github.com/gopacket/gopacket 1.7.7 (Go 1.26); scapy 2.8.0 is the second reader (Python
#   3.11); seen on 2026-11-30.
# Guess: an information element of GTPv2 is identified by its type and its instance (TS 29.274,
#   6.1.3), so the layer GTPv2 has both for each element.
# Seen: an element has a type and its octets; the instance is not kept anywhere. In a Create Session
#   Response, a bearer that was created (Bearer Context, instance 0) and one that is marked for
#   removal (instance 1) cannot be told apart, nor the F-TEID of the SGW from that of the PGW. Inner
#   elements are not read at all. scapy has the instances.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
python3 -m venv venv
venv/bin/pip install --quiet --no-compile scapy==2.8.0
cat >make.py <<'PY'
import struct
from scapy.contrib.gtp_v2 import GTPHeader

def element(kind, instance, value):
    return struct.pack("!BHB", kind, len(value), instance) + value

def endpoint(interface, teid):
    return struct.pack("!BI4s", 0x80 | interface, teid, bytes([192, 0, 2, interface]))

def bearer(number):
    return element(73, 0, bytes([number])) + element(2, 0, b"\x10\x00")

body = (element(2, 0, b"\x10\x00")
        + element(87, 0, endpoint(11, 1)) + element(87, 1, endpoint(7, 2))
        + element(93, 0, bearer(5)) + element(93, 1, bearer(6)))
octets = struct.pack("!BBHII", 0x48, 33, 8 + len(body), 1, 1 << 8) + body
with open("message", "wb") as out:
    out.write(octets)
print("scapy:", [(one.ietype, one.instance) for one in GTPHeader(octets).IE_list])
PY
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/gopacket/gopacket v1.7.7
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"reflect"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

func main() {
	octets, err := os.ReadFile("message")
	if err != nil {
		panic(err)
	}
	packet := gopacket.NewPacket(octets, layers.LayerTypeGTPv2, gopacket.Default)
	read := packet.Layer(layers.LayerTypeGTPv2).(*layers.GTPv2)
	var types []uint8
	for _, one := range read.IEs {
		types = append(types, one.Type)
	}
	fmt.Println("gopacket:", types)
	element := reflect.TypeOf(layers.IE{})
	for i := range element.NumField() {
		fmt.Println("  field of an element:", element.Field(i).Name)
	}
	fmt.Printf("  bearers: %x, %x\n", read.IEs[3].Content, read.IEs[4].Content)
}
GO
seen=$(venv/bin/python make.py && go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
scapy: [(2, 0), (87, 0), (87, 1), (93, 0), (93, 1)]
gopacket: [2 87 87 93 93]
  field of an element: Type
  field of an element: Content
  bearers: 4900010005020002001000, 4900010006020002001000
SEEN
