// SPDX-License-Identifier: MIT

package main

import "strings"

// initialisms keep their capitals in Go names.
var initialisms = map[string]string{
	"abi": "ABI", "bos": "BOS", "eos": "EOS", "eot": "EOT", "gbnf": "GBNF", "json": "JSON", "ms": "MS",
}

// camel turns snake_case into an exported Go name.
func camel(snake string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(strings.Trim(snake, "_"), "_") {
		if capital, ok := initialisms[word]; ok {
			b.WriteString(capital)
			continue
		}
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// exportName drops the prefix that all exports share, so that constants read
// ExportSample and not ExportPenstockSample.
func exportName(name string) string {
	return "Export" + camel(strings.TrimPrefix(name, "penstock_"))
}
