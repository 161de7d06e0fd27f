// A TLS 1.3 end of Go's crypto/tls, or of its net/http: client|server|http HOST PORT CERTIFICATE KEY ROOTS [GROUPS].
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
)

// Go before 1.27 has no constant for MLKEM1024, and leaves the number out.
var groups = map[string]tls.CurveID{"MLKEM1024": 514, "P-384": tls.CurveP384}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	if os.Args[1] == "version" {
		fmt.Println(runtime.Version())
		return
	}
	role, address := os.Args[1], net.JoinHostPort(os.Args[2], os.Args[3])
	own, err := tls.LoadX509KeyPair(os.Args[4], os.Args[5])
	check(err)
	pem, err := os.ReadFile(os.Args[6])
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	rules := &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: "nrf.5gc", NextProtos: []string{"h2"},
		Certificates: []tls.Certificate{own}, RootCAs: roots,
		ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	if len(os.Args) > 7 {
		for _, name := range strings.Split(os.Args[7], ":") {
			rules.CurvePreferences = append(rules.CurvePreferences, groups[name])
		}
	}
	if role == "client" {
		connection, err := tls.Dial("tcp", address, rules)
		check(err)
		_, err = io.Copy(io.Discard, connection)
		check(err)
		return
	}
	listener, err := tls.Listen("tcp", address, rules)
	check(err)
	fmt.Println("ACCEPT")
	if role == "http" {
		served := http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
			if request.TLS == nil {
				http.Error(answer, "no TLS state", http.StatusForbidden)
				return
			}
			fmt.Fprintln(answer, request.Proto, "from", request.TLS.PeerCertificates[0].DNSNames[0])
		})
		check(http.Serve(listener, served))
	}
	for {
		connection, err := listener.Accept()
		check(err)
		go func() {
			_, err := io.Copy(io.Discard, connection)
			fmt.Fprintln(os.Stderr, err)
		}()
	}
}
