#!/usr/bin/env bash
# Package: github.com/leodido/go-syslog/v4 v4.6.0 (Go 1.26), seen on 2026-11-30.
# Guess: the host of a message may be an IPv6 address, in RFC 3164 (4.1.2: "the hostname, or the IPv4
#   address or IPv6 address of the originator") as in RFC 5424, and of two parameters with one name,
#   as the addresses of the element origin are (RFC 5424, 7.2.1), both are read.
# Seen: in RFC 3164 the first group of the address is the program, there is no host, and the address
#   with program and process is part of the text. Of two addresses of the element origin the last is
#   kept. The host of RFC 5424 and IPv4 addresses are read.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/leodido/go-syslog/v4 v4.6.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/leodido/go-syslog/v4"
	"github.com/leodido/go-syslog/v4/rfc3164"
	"github.com/leodido/go-syslog/v4/rfc5424"
)

func text(value *string) string {
	if value == nil {
		return "none"
	}
	return fmt.Sprintf("%q", *value)
}

func show(line string, base syslog.Base) {
	fmt.Println(line)
	fmt.Println("  host", text(base.Hostname), "program", text(base.Appname), "process",
		text(base.ProcID), "text", text(base.Message))
}

func main() {
	for _, host := range []string{"amf1.example", "192.0.2.1", "2001:db8::1"} {
		line := "<30>Oct 11 08:00:00 " + host + " amf[7]: N2 is up"
		read, err := rfc3164.NewParser().Parse([]byte(line))
		if err != nil {
			panic(err)
		}
		show(line, read.(*rfc3164.SyslogMessage).Base)
	}
	line := `<30>1 2026-10-11T08:00:00Z 2001:db8::1 amf 7 - [origin ip="192.0.2.1" ip="192.0.2.2"] up`
	read, err := rfc5424.NewParser().Parse([]byte(line))
	if err != nil {
		panic(err)
	}
	message := read.(*rfc5424.SyslogMessage)
	show(line, message.Base)
	fmt.Println("  origin:", (*message.StructuredData)["origin"])
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
<30>Oct 11 08:00:00 amf1.example amf[7]: N2 is up
  host "amf1.example" program "amf" process "7" text "N2 is up"
<30>Oct 11 08:00:00 192.0.2.1 amf[7]: N2 is up
  host "192.0.2.1" program "amf" process "7" text "N2 is up"
<30>Oct 11 08:00:00 2001:db8::1 amf[7]: N2 is up
  host none program "2001" process none text "2001:db8::1 amf[7]: N2 is up"
<30>1 2026-10-11T08:00:00Z 2001:db8::1 amf 7 - [origin ip="192.0.2.1" ip="192.0.2.2"] up
  host "2001:db8::1" program "amf" process "7" text "up"
  origin: map[ip:192.0.2.2]
SEEN
