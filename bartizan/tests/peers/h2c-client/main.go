// Command h2c-client is a consumer as free5GC's are: Go's net/http2 without TLS, many requests, a new connection every few of them.
//
// It asks for `/id/0` to `/id/N-1`, each once, GET and POST in turn, and prints one letter per id:
//
//	a  answered: status 200 with the id and the body that was sent
//	p  answered in the producer's place: another status
//	l  lost: sent, and no answer came
//
// With -hosts request N goes to `-to` and names the Nth of these in turn as its authority.
//
// SIGINT ends it: what was asked is answered, and nothing more is asked.
//
// A request that could not be sent because nobody accepts connections is tried again until somebody does. Why requests were
// lost, or answered otherwise, is said on standard error.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
)

type consumer struct {
	to       string
	patience time.Duration
	bodies   int
	refused  int64
	hosts    []string
}

func main() {
	to := flag.String("to", "", "host and port")
	from := flag.Int("from", 0, "the first id")
	count := flag.Int("n", 10000, "how many ids")
	workers := flag.Int("concurrency", 16, "how many at once")
	each := flag.Int("each", 5, "requests per connection")
	bodies := flag.Int("body", 200, "bytes of a POST")
	pause := flag.Duration("pause", 50*time.Millisecond, "wait of a worker whose request was not answered by the producer")
	rate := flag.Int("rate", 0, "requests per second of all workers; as fast as they are answered where it is 0")
	http1 := flag.Bool("http1", false, "HTTP/1.1, as free5GC's PCF and SMF speak it to the BSF")
	hosts := flag.String("hosts", "", "authorities, separated by commas, that requests name in turn; that of -to where there is none")
	patience := flag.Duration("patience", 2*time.Minute, "for one request, its retries included")
	flag.Parse()

	var turns <-chan time.Time
	if *rate > 0 {
		turns = time.NewTicker(time.Second / time.Duration(*rate)).C
	}
	fresh := func() transport { return newTransport() }
	if *http1 {
		fresh = func() transport { return &http.Transport{} }
	}
	self := &consumer{to: *to, patience: *patience, bodies: *bodies}
	if *hosts != "" {
		self.hosts = strings.Split(*hosts, ",")
	}
	outcomes := make([]byte, *count)
	var next int64 = -1
	var stopped atomic.Bool
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	go func() {
		<-stop
		stopped.Store(true)
	}()
	var group sync.WaitGroup
	for worker := 0; worker < *workers; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			transport := fresh()
			for done := 1; ; done++ {
				if turns != nil {
					<-turns
				}
				index := int64(*count)
				if !stopped.Load() {
					index = atomic.AddInt64(&next, 1)
				}
				if index >= int64(*count) {
					transport.CloseIdleConnections()
					return
				}
				outcomes[index] = self.ask(transport, *from+int(index))
				if done%*each == 0 {
					transport.CloseIdleConnections()
					transport = fresh()
				}
				if outcomes[index] != 'a' {
					time.Sleep(*pause)
				}
			}
		}()
	}
	group.Wait()
	if asked := atomic.LoadInt64(&next) + 1; asked < int64(*count) {
		outcomes = outcomes[:asked]
	}
	fmt.Println(string(outcomes))
	fmt.Fprintln(os.Stderr, "connections refused:", atomic.LoadInt64(&self.refused))
}

type transport interface {
	http.RoundTripper
	CloseIdleConnections()
}

func newTransport() *http2.Transport {
	return &http2.Transport{
		AllowHTTP: true,
		DialTLSContext: func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, network, address)
		},
	}
}

func (self *consumer) ask(transport transport, id int) byte {
	deadline := time.Now().Add(self.patience)
	for {
		outcome, err := self.try(transport, id, deadline)
		if err == nil {
			return outcome
		}
		var refused *net.OpError
		if errors.As(err, &refused) && refused.Op == "dial" && time.Now().Before(deadline) {
			atomic.AddInt64(&self.refused, 1)
			time.Sleep(5 * time.Millisecond)
			continue
		}
		fmt.Fprintf(os.Stderr, "id %d lost: %v\n", id, err)
		return 'l'
	}
}

func (self *consumer) try(transport transport, id int, deadline time.Time) (byte, error) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	method, sent := http.MethodGet, []byte(nil)
	if id%2 == 1 {
		method, sent = http.MethodPost, bytes.Repeat([]byte{'x'}, self.bodies)
	}
	url := fmt.Sprintf("http://%s/id/%d", self.to, id)
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(sent))
	if err != nil {
		return 0, err
	}
	if len(self.hosts) > 0 {
		request.Host = self.hosts[id%len(self.hosts)]
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	if response.StatusCode != http.StatusOK {
		fmt.Fprintf(os.Stderr, "id %d answered %d: %s\n", id, response.StatusCode, body)
		return 'p', nil
	}
	if want := fmt.Sprintf("%d %s", id, sent); string(body) != want {
		return 0, fmt.Errorf("answered with %d bytes that are not its own", len(body))
	}
	return 'a', nil
}
