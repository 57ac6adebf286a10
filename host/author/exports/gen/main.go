// SPDX-License-Identifier: MIT

// Command gen writes penstock_exports.go of each Go plugin in the folders given. Run it through go
// generate ./host/author/exports.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/penstock/penstock/host/author/exports"
)

func main() {
	for _, folder := range os.Args[1:] {
		plugins, err := filepath.Glob(filepath.Join(folder, "*", "main.go"))
		if err != nil {
			fail(err)
		}
		for _, plugin := range plugins {
			if _, err := exports.Write(filepath.Dir(plugin)); err != nil {
				fail(err)
			}
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
