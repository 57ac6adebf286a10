// SPDX-License-Identifier: MIT

// Command plugindoc writes a page of all calls for each plugin SDK, from the comments in its source
// and the table of the ABI.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . ../..

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: plugindoc ROOT")
		os.Exit(2)
	}
	var failed error
	for name, sdk := range sdks {
		text, err := sdk.page(os.Args[1])
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name), []byte(text), 0o644)
		}
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		fmt.Fprintln(os.Stderr, "plugindoc:", failed)
		os.Exit(1)
	}
}
