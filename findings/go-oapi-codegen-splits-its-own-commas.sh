#!/usr/bin/env bash
# Package: github.com/oapi-codegen/runtime v1.9.0 (Go 1.26), seen on 2026-11-30.
# Guess: a query parameter that the runtime of oapi-codegen writes is read back by it as what it was: a
#   list that is not exploded has its commas between the values as they are and those inside of a
#   value encoded (RFC 6570, 3.2.8), an object has its members as they were.
# Seen: it writes A%2CB,C for the two values "A,B" and "C" and reads three values from it, since all is
#   decoded before it is split. An object with a number that is not exploded is written as
#   sd,000001,sst,1 and refused when it is read: the number has become a text. A map that is exploded
#   is written as its members and then "is required". Exploded lists and objects come back.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOMODCACHE=$folder/modules GOFLAGS=-mod=mod
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/oapi-codegen/runtime v1.9.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"net/url"

	"github.com/oapi-codegen/runtime"
)

type Snssai struct {
	Sst int    `json:"sst"`
	Sd  string `json:"sd,omitempty"`
}

func show[T any](title string, value T) {
	for _, explode := range []bool{true, false} {
		text, err := runtime.StyleParamWithLocation("form", explode, "p",
			runtime.ParamLocationQuery, value)
		if err != nil {
			panic(err)
		}
		values, err := url.ParseQuery(text)
		if err != nil {
			panic(err)
		}
		var read T
		err = runtime.BindQueryParameter("form", explode, true, "p", values, &read)
		fmt.Printf("%s, exploded %t: %s\n  read: %s, error: %v\n", title, explode, text,
			fmt.Sprintf("%#v", read)[len(fmt.Sprintf("%T", read)):], err)
	}
}

func main() {
	show("list", []string{"AMF", "SMF"})
	show("list with a comma", []string{"A,B", "C"})
	show("object", Snssai{1, "000001"})
	show("map", map[string]string{"mcc": "001", "mnc": "01"})
}
GO
seen=$(go run . 2>errors) || { cat errors; exit 1; }
echo "$seen"
diff - <(echo "$seen") <<'SEEN' || { echo "changed" >&2; exit 1; }
list, exploded true: p=AMF&p=SMF
  read: {"AMF", "SMF"}, error: <nil>
list, exploded false: p=AMF,SMF
  read: {"AMF", "SMF"}, error: <nil>
list with a comma, exploded true: p=A%2CB&p=C
  read: {"A,B", "C"}, error: <nil>
list with a comma, exploded false: p=A%2CB,C
  read: {"A", "B", "C"}, error: <nil>
object, exploded true: sd=000001&sst=1
  read: {Sst:1, Sd:"000001"}, error: <nil>
object, exploded false: p=sd,000001,sst,1
  read: {Sst:0, Sd:"000001"}, error: error binding parameter p fields: json: cannot unmarshal string into Go struct field Snssai.sst of type int
map, exploded true: mcc=001&mnc=01
  read: (nil), error: query parameter 'p' is required
map, exploded false: p=mcc,001,mnc,01
  read: {"mcc":"001", "mnc":"01"}, error: <nil>
SEEN
