#!/usr/bin/env bash
# Package: github.com/coreos/go-systemd/v22 v22.7.0, unit (Go 1.26), seen on 2026-11-30.
# Guess: a unit file is read as systemd.syntax(7) has it: a backslash at the end of a line joins
#   the next one with a space for the backslash, comment lines behind such a line are skipped, and a
#   line may have 1 MB.
# Seen: a comment behind a continued line becomes part of the value: the command of a proxy gets
#   the words of the comment as arguments. When the comment is the last line, it is read as if it
#   belonged to the command. The backslash and the end of the line stay in the value. In a file with
#   CRLF the value ends at the backslash, and the next line is taken for an option's name, which has
#   no equal sign. A line of 5000 octets, such as a setting with a public key of ML-DSA, refuses the
#   file as more than systemd takes, which are 2048.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/coreos/go-systemd/v22 v22.7.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
)

func main() {
	for _, one := range []struct{ name, text string }{
		{"continued", "[Service]\nExecStart=/usr/bin/proxy \\\n  --port 443\nUser=proxy\n"},
		{"comment between",
			"[Service]\nExecStart=/usr/bin/proxy \\\n# --debug \\\n  --port 443\nUser=proxy\n"},
		{"comment at the end", "[Service]\nExecStart=/usr/bin/proxy \\\n; was --debug\n\nUser=proxy\n"},
		{"continued, CRLF",
			"[Service]\r\nExecStart=/usr/bin/proxy \\\r\n  --port 443\r\nUser=proxy\r\n"},
		{"5000 octets", "[Service]\nEnvironment=KEY=" + strings.Repeat("A", 5000) + "\n"},
	} {
		options, err := unit.DeserializeOptions(strings.NewReader(one.text))
		fmt.Printf("%s: error %v\n", one.name, err)
		for _, option := range options {
			fmt.Printf("  %s %.60q\n", option.Name, option.Value)
		}
	}
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
continued: error <nil>
  ExecStart "/usr/bin/proxy \\\n  --port 443"
  User "proxy"
comment between: error <nil>
  ExecStart "/usr/bin/proxy \\\n# --debug \\\n  --port 443"
  User "proxy"
comment at the end: error <nil>
  ExecStart "/usr/bin/proxy \\\n; was --debug"
  User "proxy"
continued, CRLF: error unexpected newline encountered while parsing option name
  ExecStart "/usr/bin/proxy \\"
5000 octets: error line too long (max 2048 bytes)
SEEN
