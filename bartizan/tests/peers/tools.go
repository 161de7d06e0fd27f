//go:build tools

// Package peers pins the programs that tests build but that are written elsewhere.
package peers

import _ "github.com/summerwind/h2spec/cmd/h2spec"
