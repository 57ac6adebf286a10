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
	"plugins/abi/zabi.gen.go":                    hostConstants,
	"plugins/sdk/go/internal/abi/abi.gen.go":     guestConstants,
	"plugins/sdk/go/internal/abi/imports.gen.go": guestImports,
	"plugins/sdk/go/internal/abi/native.gen.go":  guestNative,
	"plugins/sdk/rust/src/abi.gen.rs":            rust,
	"docs/abi/v1.md":                             reference,
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
