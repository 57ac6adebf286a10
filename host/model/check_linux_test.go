// SPDX-License-Identifier: MIT

package model

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"testing"
)

func TestCheck_NoPermission_IsErrPermission(t *testing.T) {
	path := store(t, "secret.gguf", builtIn)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	if os.Geteuid() == 0 { // root may read every file, but not this thread, which ends with the test
		runtime.LockOSThread()
		const nobody = 65534
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Setfsuid(0) }() // for what removes the folders
	}
	if _, err := Check(t.Context(), path, CheckOptions{CacheDir: cache}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}
