// SPDX-License-Identifier: MIT

// Command gen writes everything that is derived from the table of the plugin
// ABI. Run it through go generate ./plugins/abi.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock/penstock/plugins/abi/table"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	flag.Parse()
	if err := write(*root, table.V1()); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// outputs maps each generated file, relative to the repository's root, to
// what renders it.
var outputs = map[string]func(table.Table) ([]byte, error){
	"plugins/abi/zabi.gen.go":                    renderHostConstants,
	"plugins/sdk/go/internal/abi/abi.gen.go":     renderGuestConstants,
	"plugins/sdk/go/internal/abi/imports.gen.go": renderGuestImports,
	"plugins/sdk/go/internal/abi/native.gen.go":  renderGuestNative,
	"plugins/sdk/rust/src/abi.gen.rs":            renderRust,
	"docs/abi/v1.md":                             renderReference,
}

func write(root string, t table.Table) error {
	for name, render := range outputs {
		text, err := render(t)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if had, err := os.ReadFile(path); err == nil && bytes.Equal(had, text) {
			continue // a newer file would have every plugin built again
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// initialisms keep their capitals in Go names.
var initialisms = map[string]string{
	"abi": "ABI", "bos": "BOS", "eos": "EOS", "eot": "EOT", "gbnf": "GBNF", "json": "JSON", "ms": "MS",
}

// camelCase turns snake_case into an exported Go name.
func camelCase(snake string) string {
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
	return "Export" + camelCase(strings.TrimPrefix(name, "penstock_"))
}
