#!/usr/bin/env bash
# Packages: github.com/gopacket/gopacket 1.7.7, github.com/google/gopacket 1.1.19 (Go 1.26), seen on
#   2026-11-30. dpkt 1.9.8 (Python 3.11) is the second reader.
# Guess: pcapgo reads the time resolutions that a pcapng interface can have (if_tsresol): negative
#   powers of ten, or of two when the most significant bit is set.
# Seen: with a power of two, fractions of a second are stretched: half a second in units of 2^-32,
#   the fraction of NTP, is 0.536870912 s, and in units of 2^-20 it is 0.499646464 s. The first error
#   grows to 73 ms within each second and is gone with the next, where time steps back. The
#   resolution 0, whole seconds, is taken for microseconds: a packet of 2026 is dated 1970.
#   tshark 4.0.17 and dpkt read 0.5 s, and 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
python3 -m venv venv
venv/bin/pip install --quiet --no-compile dpkt==1.9.8
cat >make.py <<'PY'
import struct
import dpkt

def block(kind, body):
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length

for name, resolution, units in [
    ("2^-32", 0xA0, (1796000000 << 32) + (1 << 31)),
    ("2^-20", 0x94, (1796000000 << 20) + (1 << 19)),
    ("10^-9", 9, 1796000000500000000),
    ("10^0", 0, 1796000000),
]:
    with open(name, "wb") as out:
        out.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
                  + block(1, struct.pack("<HHIHHB3xI", 1, 0, 0, 9, 1, resolution, 0))
                  + block(6, struct.pack("<5I", 0, units >> 32, units & 0xFFFFFFFF, 60, 60)
                          + bytes(60)))
    with open(name, "rb") as file:
        print("dpkt", name, next(iter(dpkt.pcapng.Reader(file)))[0])
PY
cat >go.mod <<'MOD'
module finding

go 1.23

require (
	github.com/google/gopacket v1.1.19
	github.com/gopacket/gopacket v1.7.7
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	google "github.com/google/gopacket/pcapgo"
	"github.com/gopacket/gopacket/pcapgo"
)

func main() {
	for _, name := range []string{"2^-32", "2^-20", "10^-9", "10^0"} {
		file, _ := os.Open(name)
		reader, err := pcapgo.NewNgReader(file, pcapgo.DefaultNgReaderOptions)
		if err != nil {
			panic(err)
		}
		_, info, _ := reader.ReadPacketData()
		again, _ := os.Open(name)
		other, err := google.NewNgReader(again, google.DefaultNgReaderOptions)
		if err != nil {
			panic(err)
		}
		_, old, _ := other.ReadPacketData()
		show := "2006 05.999999999"
		fmt.Println(name, info.Timestamp.UTC().Format(show)+",", old.Timestamp.UTC().Format(show))
	}
}
GO
seen=$(venv/bin/python make.py && go run .)
echo "$seen"
[ "$seen" = "dpkt 2^-32 1796000000.5
dpkt 2^-20 1796000000.5
dpkt 10^-9 1796000000.5
dpkt 10^0 1796000000.0
2^-32 2026 20.536870912, 2026 20.536870912
2^-20 2026 20.499646464, 2026 20.499646464
10^-9 2026 20.5, 2026 20.5
10^0 1970 56, 1970 56" ] || { echo "changed" >&2; exit 1; }
