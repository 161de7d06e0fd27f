#!/usr/bin/env bash
# Package: github.com/openvex/go-vex 0.2.9 (Go 1.26), seen on 2026-11-30.
# Guess: `OpenCSAF` turns each product status of a valid CSAF 2.0 VEX document into a statement,
#   with the time of the document, and a flag such as vulnerable_code_not_present into the
#   justification of the same name; without one, not_affected is no valid OpenVEX statement.
# Seen: a product without product_identification_helper, which is optional (CSAF 2.0, 3.1.3.3), has
#   no statement, and so has a product of full_product_names (3.2.2.2), which is not in a branch:
#   both affected products are lost without an error. Flags are not read: not_affected has no
#   justification, and the result is invalid. The time is in the year 1, before each other document,
#   and the author is lost. The product keeps the ID of the file, not the purl of its helper.
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
cat >csaf.json <<'JSON'
{"document": {"category": "csaf_vex", "csaf_version": "2.0", "title": "VEX",
  "publisher": {"category": "vendor", "name": "core", "namespace": "https://example.org"},
  "tracking": {"id": "vex-1", "status": "final", "version": "1",
    "initial_release_date": "2026-11-30T00:00:00Z", "current_release_date": "2026-11-30T00:00:00Z",
    "revision_history": [{"date": "2026-11-30T00:00:00Z", "number": "1", "summary": "first"}]}},
 "product_tree": {
   "full_product_names": [{"product_id": "SMF", "name": "SMF 1.0",
     "product_identification_helper": {"purl": "pkg:generic/smf@1.0"}}],
   "branches": [{"category": "vendor", "name": "core", "branches": [
     {"category": "product_version", "name": "1.0", "product": {"product_id": "AMF", "name": "AMF"}},
     {"category": "product_version", "name": "1.1", "product": {"product_id": "UPF", "name": "UPF",
       "product_identification_helper": {"purl": "pkg:generic/upf@1.1"}}}]}]},
 "vulnerabilities": [{"cve": "CVE-2026-0001",
   "notes": [{"category": "description", "text": "a vulnerability"}],
   "product_status": {"known_affected": ["AMF", "SMF"], "known_not_affected": ["UPF"]},
   "flags": [{"label": "vulnerable_code_not_present", "product_ids": ["UPF"]}],
   "remediations": [{"category": "vendor_fix", "details": "update",
     "product_ids": ["AMF", "SMF"]}]}]}
JSON
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/openvex/go-vex/pkg/vex"
)

func main() {
	read, err := vex.OpenCSAF("csaf.json", nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d statements, author %q, year %d\n", len(read.Statements), read.Author,
		read.Timestamp.Year())
	for _, one := range read.Statements {
		fmt.Printf("%s is %s, justification %q\n", one.Products[0].ID, one.Status, one.Justification)
		fmt.Println("valid:", one.Validate())
	}
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
1 statements, author "", year 1
UPF is not_affected, justification ""
valid: either justification or impact statement must be defined when using status "not_affected"
SEEN
