#!/usr/bin/env bash
# Package: github.com/openconfig/goyang 1.6.3 (Go 1.26); pyang 2.7.1 is the second reader (Python
#   3.11); seen on 2026-11-30.
# Guess: `uses` of a grouping is resolved with its substatements (RFC 7950, 7.13): refine changes a
#   default, a mandatory or a number of elements, and augment adds nodes. What is not supported is
#   an error of `Process`, as an unknown type is.
# Seen: refine and augment under `uses` are read and have no effect, and there is no error. The
#   default is the grouping's, the leaf stays mandatory, the list has no minimum, and the added leaf
#   does not exist, so a tool that is built on the tree, as ygot is, refuses data that has it. An
#   augment of the module's own is applied. pyang and yanglint 2.1.30 apply all of them.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
python3 -m venv venv
venv/bin/pip install --quiet --no-compile pyang==2.7.1
cat >unit.yang <<'YANG'
module unit {
  yang-version 1.1;
  namespace "urn:example:unit";
  prefix u;
  grouping port {
    leaf speed { type uint16; default 10; }
    container sync {
      leaf domain { type uint8; mandatory true; }
    }
    leaf-list vlan { type uint16; }
  }
  container fronthaul {
    uses port {
      refine speed { default 25; }
      refine sync/domain { mandatory false; }
      refine vlan { min-elements 1; }
      augment sync { leaf profile { type string; } }
    }
  }
  augment /u:fronthaul { leaf own { type string; } }
}
YANG
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/openconfig/goyang v1.6.3
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"slices"

	"github.com/openconfig/goyang/pkg/yang"
)

func names(entry *yang.Entry) []string {
	var found []string
	for name := range entry.Dir {
		found = append(found, name)
	}
	slices.Sort(found)
	return found
}

func main() {
	modules := yang.NewModules()
	if err := modules.Read("unit.yang"); err != nil {
		panic(err)
	}
	fmt.Println("errors:", len(modules.Process()))
	module, _ := modules.GetModule("unit")
	fronthaul := module.Dir["fronthaul"]
	fmt.Println("fronthaul:", names(fronthaul), "sync:", names(fronthaul.Dir["sync"]))
	speed, _ := fronthaul.Dir["speed"].SingleDefaultValue()
	fmt.Println("speed:", speed)
	fmt.Println("domain mandatory:", fronthaul.Dir["sync"].Dir["domain"].Mandatory)
	fmt.Println("vlan at least:", fronthaul.Dir["vlan"].ListAttr.MinElements)
}
GO
seen=$(go run . 2>errors && venv/bin/pyang -f tree unit.yang | grep -E 'domain|profile') ||
  { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
errors: 0
fronthaul: [own speed sync vlan] sync: [domain]
speed: 10
domain mandatory: true
vlan at least: 0
     |  +--rw domain?    uint8
     |  +--rw profile?   string
SEEN
