// Command h2c-server is a network function as free5GC's are: Go's net/http2 without TLS, which sends GOAWAY on a connection once it
// has been idle for a millisecond.
//
// With -http1 it takes HTTP/1.1 alone, as free5GC's BSF does, and closes a connection that has been idle for as long.
//
// It answers `/id/N` with N and the request's body, and counts each N; `/counts` gives the counts as a JSON array.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "where to listen")
	ids := flag.Int("ids", 10000, "how many ids there are")
	idle := flag.Duration("idle", time.Millisecond, "how long a connection may be idle")
	http1 := flag.Bool("http1", false, "HTTP/1.1 alone")
	flag.Parse()

	counts := make([]int64, *ids)
	mux := http.NewServeMux()
	mux.HandleFunc("/id/", func(answer http.ResponseWriter, request *http.Request) {
		id, err := strconv.Atoi(strings.TrimPrefix(request.URL.Path, "/id/"))
		if err != nil || id < 0 || id >= *ids {
			http.Error(answer, "no such id", http.StatusNotFound)
			return
		}
		atomic.AddInt64(&counts[id], 1)
		body, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
		if err != nil {
			// The consumer has gone; the request stays counted.
			return
		}
		fmt.Fprintf(answer, "%d ", id)
		answer.Write(body)
	})
	mux.HandleFunc("/counts", func(answer http.ResponseWriter, _ *http.Request) {
		now := make([]int64, *ids)
		for id := range counts {
			now[id] = atomic.LoadInt64(&counts[id])
		}
		json.NewEncoder(answer).Encode(now)
	})

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	if *http1 {
		fmt.Println("listening on", listener.Addr())
		log.Fatal((&http.Server{Handler: mux, IdleTimeout: *idle}).Serve(listener))
	}
	server := &http.Server{Handler: h2c.NewHandler(mux, &http2.Server{IdleTimeout: *idle})}
	fmt.Println("listening on", listener.Addr())
	log.Fatal(server.Serve(listener))
}
