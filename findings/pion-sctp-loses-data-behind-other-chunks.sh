#!/usr/bin/env bash
# Package: github.com/pion/sctp v1.12.1 (Go 1.26), seen on 2026-11-30.
# Guess: a chunk of a type that is not known is skipped or answered as the two upper bits of its
#   type say, and the chunks bundled with it are processed: 10 and 11 are "skip and continue" (RFC
#   9260, 3.2). So PAD, 0x84 (RFC 4820), or a chunk of a later RFC does no harm to the DATA beside
#   it.
# Seen: one such chunk discards the whole packet. DATA that has PAD behind it is not delivered and
#   not acknowledged, however often the peer sends it again; nor is DATA with an unknown chunk of
#   either kind in front. The same DATA alone is delivered.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/pion/sctp v1.12.1
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net"
	"slices"
	"time"

	"github.com/pion/logging"
	"github.com/pion/sctp"
)

// sender bundles chunks with the DATA that is written.
type sender struct {
	net.Conn
	front, behind []byte
}

func (s sender) Write(packet []byte) (int, error) {
	octets := slices.Clone(packet)
	if packet[12] == 0 || packet[12] == 0x40 { // DATA, I-DATA
		octets = slices.Concat(packet[:12], s.front, packet[12:], s.behind)
		clear(octets[8:12])
		sum := crc32.Checksum(octets, crc32.MakeTable(crc32.Castagnoli))
		binary.LittleEndian.PutUint32(octets[8:], sum)
	}
	_, err := s.Conn.Write(octets)
	return len(packet), err
}

func try(name string, front, behind []byte) {
	one, _ := net.ListenPacket("udp", "127.0.0.1:0")
	two, _ := net.ListenPacket("udp", "127.0.0.1:0")
	addresses := []*net.UDPAddr{one.LocalAddr().(*net.UDPAddr), two.LocalAddr().(*net.UDPAddr)}
	one.Close()
	two.Close()
	client, err := net.DialUDP("udp", addresses[0], addresses[1])
	if err != nil {
		panic(err)
	}
	server, err := net.DialUDP("udp", addresses[1], addresses[0])
	if err != nil {
		panic(err)
	}
	received := make(chan string, 1)
	go func() {
		config := sctp.Config{NetConn: server, LoggerFactory: &logging.DefaultLoggerFactory{}}
		association, err := sctp.Server(config)
		if err != nil {
			return
		}
		stream, err := association.AcceptStream()
		if err != nil {
			return
		}
		buffer := make([]byte, 100)
		count, _ := stream.Read(buffer)
		received <- string(buffer[:count])
	}()
	config := sctp.Config{
		NetConn:       sender{client, front, behind},
		LoggerFactory: &logging.DefaultLoggerFactory{},
	}
	association, err := sctp.Client(config)
	if err != nil {
		panic(err)
	}
	stream, err := association.OpenStream(1, sctp.PayloadTypeWebRTCString)
	if err != nil {
		panic(err)
	}
	stream.Write([]byte("NGSetupRequest"))
	select {
	case text := <-received:
		fmt.Println(name+":", text)
	case <-time.After(5 * time.Second):
		fmt.Println(name + ": nothing in 5 seconds")
	}
	client.Close()
	server.Close()
}

func main() {
	try("DATA", nil, nil)
	try("DATA and PAD", nil, []byte{0x84, 0, 0, 8, 0, 0, 0, 0})
	try("unknown type 0xbf and DATA", []byte{0xbf, 0, 0, 8, 0, 0, 0, 1}, nil)
	try("unknown type 0xff and DATA", []byte{0xff, 0, 0, 8, 0, 0, 0, 1}, nil)
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
DATA: NGSetupRequest
DATA and PAD: nothing in 5 seconds
unknown type 0xbf and DATA: nothing in 5 seconds
unknown type 0xff and DATA: nothing in 5 seconds
SEEN
