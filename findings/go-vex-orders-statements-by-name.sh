#!/usr/bin/env bash
# Package: github.com/openvex/go-vex 0.2.9 (Go 1.26), seen on 2026-11-30.
# Guess: `EffectiveStatement` returns the latest statement about a product and a vulnerability,
#   whether the statement has the vulnerability's name or an alias (OpenVEX v0.2.0: the latest
#   applies). A name and an alias are one vulnerability to it: both are found.
# Seen: statements are ordered by the text of their name first, and by time only among equal names.
#   A GHSA name stands behind a CVE name, so "affected" of January, under the GHSA name with the CVE
#   as its alias, is in force, and "fixed" of November, under the CVE, is not. With the names the
#   other way round it is right. `StatementsByVulnerability`, "ordered according to the VEX
#   history", has the same order.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/openvex/go-vex v0.2.9
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"strings"

	"github.com/openvex/go-vex/pkg/vex"
)

const document = `{"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:example:vex",
  "author": "core", "timestamp": "2026-11-30T00:00:00Z", "version": 2, "statements": [
  {"vulnerability": {"name": "OLD", "aliases": ["NEW"]}, "timestamp": "2026-01-10T00:00:00Z",
   "products": [{"@id": "pkg:generic/amf@1.0"}], "status": "affected", "action_statement": "update"},
  {"vulnerability": {"name": "NEW", "aliases": ["OLD"]}, "timestamp": "2026-11-10T00:00:00Z",
   "products": [{"@id": "pkg:generic/amf@1.0"}], "status": "fixed"}]}`

func main() {
	for _, names := range [][]string{
		{"OLD", "GHSA-aaaa-bbbb-cccc", "NEW", "CVE-2026-0001"},
		{"OLD", "CVE-2026-0001", "NEW", "GHSA-aaaa-bbbb-cccc"},
	} {
		read, err := vex.Parse([]byte(strings.NewReplacer(names...).Replace(document)))
		if err != nil {
			panic(err)
		}
		fmt.Println("January:", names[1], "November:", names[3])
		for _, name := range []string{names[1], names[3]} {
			one := read.EffectiveStatement("pkg:generic/amf@1.0", name)
			fmt.Println("  in force for", name+":", one.Status, one.Timestamp.Format("January"))
		}
	}
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
January: GHSA-aaaa-bbbb-cccc November: CVE-2026-0001
  in force for GHSA-aaaa-bbbb-cccc: affected January
  in force for CVE-2026-0001: affected January
January: CVE-2026-0001 November: GHSA-aaaa-bbbb-cccc
  in force for CVE-2026-0001: fixed November
  in force for GHSA-aaaa-bbbb-cccc: fixed November
SEEN
