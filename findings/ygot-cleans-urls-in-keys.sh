#!/usr/bin/env bash
# Package: github.com/openconfig/ygot v0.36.0 (Go 1.26), seen on 2026-11-30.
# Guess: PathToString writes a gNMI path in the notation that StringToPath reads, key values with
#   `\` and `]` escaped (OpenConfig, "Schema path encoding conventions for gNMI"), so a path that is
#   written and read is the path it was.
# Seen: the elements are put together as parts of a file path, which is then cleaned: of a URL as
#   the key of a list, as for VES collectors or certificate revocation lists, a slash is lost, and
#   `/./` within a value is gone, so what is read back asks for another entry, without an error.
#   `..` in a value takes parts of the path along, and the rest is refused when it is read. An empty
#   value, which a string may have, is written, and refused when it is read.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/openconfig/ygot v0.36.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	gnmi "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
)

func main() {
	for _, value := range []string{
		"ves", "https://a.example/7", "Ethernet1/1", "a/../b", "a/../../b", "/var/./lib", "a]b", "",
	} {
		path := &gnmi.Path{Elem: []*gnmi.PathElem{
			{Name: "ves"},
			{Name: "to", Key: map[string]string{"url": value}},
			{Name: "state"},
		}}
		written, err := ygot.PathToString(path)
		if err != nil {
			panic(err)
		}
		read, err := ygot.StringToStructuredPath(written)
		if err != nil {
			fmt.Printf("%q: %s: refused\n", value, written)
			continue
		}
		fmt.Printf("%q: %s:", value, written)
		for _, elem := range read.Elem {
			fmt.Printf(" %s", elem.Name)
			if key, ok := elem.Key["url"]; ok {
				fmt.Printf("{%s}", key)
			}
		}
		fmt.Println()
	}
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
"ves": /ves/to[url=ves]/state: ves to{ves} state
"https://a.example/7": /ves/to[url=https:/a.example/7]/state: ves to{https:/a.example/7} state
"Ethernet1/1": /ves/to[url=Ethernet1/1]/state: ves to{Ethernet1/1} state
"a/../b": /ves/b]/state: refused
"a/../../b": /b]/state: refused
"/var/./lib": /ves/to[url=/var/lib]/state: ves to{/var/lib} state
"a]b": /ves/to[url=a\]b]/state: ves to{a]b} state
"": /ves/to[url=]/state: refused
SEEN
