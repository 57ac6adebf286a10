// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// openWithExamples opens a host that has plugins of build/plugins, where `make plugins` puts them.
func openWithExamples(t *testing.T, names ...string) *Host {
	t.Helper()
	modules := map[string][]byte{}
	for _, name := range names {
		modules[filepath.Base(name)+".wasm"] = example(t, name)
	}
	return openWithPlugins(t, nil, modules)
}

// example is a plugin of build/plugins.
func example(t *testing.T, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "build", "plugins", name+".wasm"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s.wasm is not built: run `make plugins` first", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// inLongTest is long where everything is to be tested, else short.
func inLongTest(long, short int) int {
	if os.Getenv("PENSTOCK_TEST_LONG") != "" {
		return long
	}
	return short
}

// eightAtOnce calls f with 0 … n − 1, from eight goroutines.
func eightAtOnce(n int, f func(i int)) {
	numbers := make(chan int)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range numbers {
				f(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	group.Wait()
}
