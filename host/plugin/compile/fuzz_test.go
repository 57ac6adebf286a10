// SPDX-License-Identifier: MIT

package compile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/host/plugin/fuel"
)

// FuzzOpenEntry opens files whose head has the right checksum, as another program may write them.
// None of them ends the process, and what is refused is removed.
func FuzzOpenEntry(f *testing.F) {
	made, limits := f.TempDir(), fuel.DefaultLimits()
	if err := fillEntry(f.Context(), answering().Wasm(), made, limits); err != nil {
		f.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(made, headFile))
	if err != nil {
		f.Fatal(err)
	}
	const prefix = 16
	size := int(file[8]) | int(file[9])<<8
	f.Add(file[prefix:prefix+size], file[prefix+size:])
	f.Add([]byte(`{"version":"`+version()+`"}`), []byte(nil))
	f.Add([]byte(`{"version":"`+version()+`","code":1}`), []byte("x"))
	f.Fuzz(func(t *testing.T, head, rest []byte) {
		entry := filepath.Join(t.TempDir(), "entry")
		if err := os.CopyFS(filepath.Join(entry, codeDir), os.DirFS(filepath.Join(made, codeDir))); err != nil {
			t.Fatal(err)
		}
		if err := writeParts(filepath.Join(entry, headFile), prefixOf(head, rest), head, rest); err != nil {
			t.Fatal(err)
		}
		code, err := openEntry(t.Context(), entry, limits.MemoryPages)
		if err == nil {
			err = code.Close()
		} else if _, gone := os.Stat(entry); !os.IsNotExist(gone) {
			t.Errorf("%v, and the entry is still there", err)
			return
		}
		if err != nil && code != nil {
			t.Error(err)
		}
	})
}
