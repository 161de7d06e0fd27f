// One program for both ends of the situations of scripts/capture-quic, one server port each.
//
//	quic serve PORT GROUPS [retry] [v1]   listens until its input ends
//	quic ask PORT GROUPS [v2] [twice] [early]   connects, says a line, and reads the answer
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
)

var groups = map[string]tls.CurveID{
	"X25519MLKEM768":     tls.X25519MLKEM768,
	"SecP256r1MLKEM768":  tls.SecP256r1MLKEM768,
	"SecP384r1MLKEM1024": tls.SecP384r1MLKEM1024,
	"X25519":             tls.X25519,
	"P-256":              tls.CurveP256,
	"P-384":              tls.CurveP384,
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func curves(list string) (curves []tls.CurveID) {
	for _, name := range strings.Split(list, ":") {
		curves = append(curves, groups[name])
	}
	return
}

func serve(port string, list string, words []string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"quic.test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	check(err)
	config := &tls.Config{
		Certificates:     []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		NextProtos:       []string{"line"},
		CurvePreferences: curves(list),
	}
	socket, err := net.ListenPacket("udp", "127.0.0.1:"+port)
	check(err)
	transport := &quic.Transport{Conn: socket}
	if slices.Contains(words, "retry") {
		transport.VerifySourceAddress = func(net.Addr) bool { return true }
	}
	quicConfig := &quic.Config{Allow0RTT: true}
	if slices.Contains(words, "v1") {
		quicConfig.Versions = []quic.Version{quic.Version1}
	}
	listener, err := transport.ListenEarly(config, quicConfig)
	check(err)
	fmt.Println("listening")
	go func() {
		for {
			connection, err := listener.Accept(context.Background())
			check(err)
			go func() {
				for {
					stream, err := connection.AcceptStream(context.Background())
					if err != nil {
						return
					}
					io.Copy(stream, stream)
					stream.Close()
				}
			}()
		}
	}()
	io.Copy(io.Discard, os.Stdin)
}

func say(connection *quic.Conn) {
	stream, err := connection.OpenStreamSync(context.Background())
	check(err)
	fmt.Fprint(stream, strings.Repeat("a message over QUIC\n", 10))
	stream.Close()
	_, err = io.ReadAll(stream)
	check(err)
}

func ask(port string, list string, words []string) {
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	check(err)
	transport := &quic.Transport{Conn: socket}
	config := &tls.Config{
		ServerName:         "quic.test",
		InsecureSkipVerify: true,
		NextProtos:         []string{"line"},
		CurvePreferences:   curves(list),
		ClientSessionCache: tls.NewLRUClientSessionCache(4),
	}
	quicConfig := &quic.Config{TokenStore: nil}
	if slices.Contains(words, "v2") {
		quicConfig.Versions = []quic.Version{quic.Version2, quic.Version1}
	}
	server, err := net.ResolveUDPAddr("udp", "127.0.0.1:"+port)
	check(err)
	dial := func() *quic.Conn {
		connection, err := transport.DialEarly(context.Background(), server, config, quicConfig)
		check(err)
		if !slices.Contains(words, "early") {
			<-connection.HandshakeComplete()
		}
		return connection
	}
	one := dial()
	say(one)
	if slices.Contains(words, "twice") {
		other := dial()
		say(other)
		say(one)
		other.CloseWithError(0, "")
	}
	if slices.Contains(words, "early") {
		// The ticket comes behind the handshake.
		<-one.HandshakeComplete()
		time.Sleep(100 * time.Millisecond)
		one.CloseWithError(0, "")
		one = dial()
		say(one)
	}
	one.CloseWithError(0, "")
	time.Sleep(50 * time.Millisecond)
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: quic serve|ask PORT GROUPS [WORD...]")
		os.Exit(64)
	}
	run := map[string]func(string, string, []string){"serve": serve, "ask": ask}[os.Args[1]]
	run(os.Args[2], os.Args[3], os.Args[4:])
}
