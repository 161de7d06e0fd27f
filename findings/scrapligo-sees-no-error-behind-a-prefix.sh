#!/usr/bin/env bash
# Package: github.com/scrapli/scrapligo v1.4.3 (Go 1.26), seen on 2026-11-30.
# Guess: a reply of NETCONF has failed if it has an rpc-error of severity error, under whatever prefix its
#   namespace has (RFC 6241, 4.3, and XML Namespaces), and not if it has a warning alone.
# Seen: the text is searched for rpc-error without a prefix, or with nc: an access-denied in ns0:rpc-error
#   is a success without errors. With nc it has failed, but the lists of errors and the error's text are
#   empty. A warning beside the data is a failure, and so is a log entry of the data that holds the
#   name of the element in CDATA.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/scrapli/scrapligo v1.4.3
MOD
cat >main.go <<'GO'
package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/scrapli/scrapligo/response"
)

const base = "urn:ietf:params:xml:ns:netconf:base:1.0"

func show(title, prefix, body string) {
	declared, name := "xmlns", "rpc-reply"
	if prefix != "" {
		declared, name = "xmlns:"+prefix, prefix+":rpc-reply"
		for _, part := range []string{"rpc-error", "error-type", "error-tag", "error-severity"} {
			body = strings.ReplaceAll(body, "<"+part, "<"+prefix+":"+part)
			body = strings.ReplaceAll(body, "</"+part, "</"+prefix+":"+part)
		}
	}
	reply := fmt.Sprintf(`<%s %s="%s" message-id="1">%s</%s>]]>]]>`, name, declared, base, body, name)
	read := response.NewNetconfResponse(nil, nil, "", 0, "1.0")
	read.Record([]byte(reply))
	var failed *response.OperationError
	text := 0
	if errors.As(read.Failed, &failed) {
		text = len(failed.ErrorString)
	}
	fmt.Printf("%s: failed %t, errors %d, warnings %d, text of the error %t\n", title,
		read.Failed != nil, len(read.ErrorMessages), len(read.WarningErrorMessages), text > 0)
}

func main() {
	denied := "<rpc-error><error-type>application</error-type><error-tag>access-denied</error-tag>" +
		"<error-severity>error</error-severity></rpc-error>"
	show("error", "", denied)
	show("error, prefix nc", "nc", denied)
	show("error, prefix ns0", "ns0", denied)
	show("data and a warning", "", strings.ReplaceAll(denied, ">error<", ">warning<")+"<data/>")
	show("data", "", `<data><log xmlns="urn:log"><![CDATA[got <rpc-error> twice]]></log></data>`)
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
error: failed true, errors 1, warnings 0, text of the error true
error, prefix nc: failed true, errors 0, warnings 0, text of the error false
error, prefix ns0: failed false, errors 0, warnings 0, text of the error false
data and a warning: failed true, errors 0, warnings 1, text of the error true
data: failed true, errors 0, warnings 0, text of the error false
SEEN
