// SPDX-License-Identifier: MIT

package fuel

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"sync"
)

// source is this package as it was compiled.
//
//go:embed *.go
var source embed.FS

// Version names what Rewrite turns a module into: where it differs, a module that was rewritten
// before must be rewritten anew. It is the checksum of the package's source, so that no change of
// it can be forgotten.
var Version = sync.OnceValue(func() string { return versionOf(source) })

// versionOf sums up the source in a folder without its tests.
func versionOf(folder fs.FS) string {
	files, err := fs.Glob(folder, "*.go")
	h := sha256.New()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, e := fs.ReadFile(folder, name)
		if e != nil {
			err = e
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
	}
	if err != nil {
		panic(err) // it is in the program
	}
	return hex.EncodeToString(h.Sum(nil))
}
