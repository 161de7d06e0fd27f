#!/usr/bin/env bash
# Packages: github.com/facebookincubator/nvdtools v0.1.5, and github.com/knqyf263/go-cpe 2023-06-27 as the
#   second reader (Go 1.26), seen on 2026-11-30.
# Guess: the language behind the packed edition of a CPE URI is read as it is, "de" as "de" (NIST IR 7695,
#   6.1.2.1), as it is without one.
# Seen: the first letter of the language is taken for the separator: de is e, and written again the name
#   is another one, which no list of vulnerabilities has. Without a packed edition it is read whole,
#   and go-cpe reads it in each case.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require (
	github.com/facebookincubator/nvdtools v0.1.5
	github.com/knqyf263/go-cpe v0.0.0-20230627041855-cb0794d06872
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/facebookincubator/nvdtools/wfn"
	"github.com/knqyf263/go-cpe/common"
	"github.com/knqyf263/go-cpe/naming"
)

func main() {
	for _, name := range []string{
		"cpe:/a:vendor:core:2.7:sp1:edition:de",
		"cpe:/a:vendor:core:2.7:sp1:~edition~pro~linux~x86~other:de",
		"cpe:/a:vendor:core:2.7:sp1:~~pro~~~:de-at",
	} {
		first, err := wfn.Parse(name)
		if err != nil {
			panic(err)
		}
		second, err := naming.UnbindURI(name)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n  nvdtools: %s, again %s\n  go-cpe: %v\n", name, first.Language,
			first.BindToURI(), second.Get(common.AttributeLanguage))
	}
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
cpe:/a:vendor:core:2.7:sp1:edition:de
  nvdtools: de, again cpe:/a:vendor:core:2.7:sp1:edition:de
  go-cpe: de
cpe:/a:vendor:core:2.7:sp1:~edition~pro~linux~x86~other:de
  nvdtools: e, again cpe:/a:vendor:core:2.7:sp1:~edition~pro~linux~x86~other:e
  go-cpe: de
cpe:/a:vendor:core:2.7:sp1:~~pro~~~:de-at
  nvdtools: e\-at, again cpe:/a:vendor:core:2.7:sp1:~~pro~~~:e-at
  go-cpe: de\-at
SEEN
