// SPDX-License-Identifier: MIT

package model

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

func TestCheck_NoPermission_IsErrPermission(t *testing.T) {
	path := store(t, "secret.gguf", builtIn)
	must.Do(t, os.Chmod(path, 0))
	cache := t.TempDir()
	if os.Geteuid() == 0 { // root may read every file, but not this thread, which ends with the test
		runtime.LockOSThread()
		const nobody = 65534
		must.Do(t, syscall.Setfsuid(nobody))
		defer func() { _ = syscall.Setfsuid(0) }() // for what removes the folders
	}
	if _, err := Check(t.Context(), path, CheckOptions{CacheDir: cache}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}
