// SPDX-License-Identifier: MIT

package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/penstock/penstock/host/refusal"
)

// hostileFiles are the files of the tests, each cut off, with each of its first bytes changed, with another file behind it and before it.
func hostileFiles(t *testing.T) map[string][]byte {
	t.Helper()
	out, files := map[string][]byte{}, map[string][]byte{"wav": wavOf(100), "png": pngOf(t, 30, 20)}
	for _, pattern := range []string{"picture/testdata/*.*", "sound/testdata/*.*"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = data
		}
	}
	for name, data := range files {
		for _, eighths := range []int{1, 3, 5, 7} {
			out[fmt.Sprintf("%s cut off at %d/8", name, eighths)] = data[:len(data)*eighths/8]
		}
		for i := range min(64, len(data)) {
			for _, b := range []byte{0x00, 0xff} {
				changed := bytes.Clone(data)
				changed[i] = b
				out[fmt.Sprintf("%s with byte %d being %d", name, i, b)] = changed
			}
		}
		out[name+" and a page"] = append(bytes.Clone(data), "<html><script>alert(1)</script>"...)
		out[name+" after a page"] = append([]byte("<html>"), data...)
		out[name+" in an archive"] = append([]byte("PK\x03\x04"), data...)
		out[name+" twice"] = append(bytes.Clone(data), data...)
	}
	return out
}

// Whatever a file has, it is read or refused by its field, takes no more memory than all files may, and gives all of it back.
func TestLoader_Load_HostileFiles(t *testing.T) {
	o := bounds
	o.Pixels, o.Memory = 1<<18, 16<<20
	l := NewLoader(o)
	files := hostileFiles(t)
	if len(files) < 200 {
		t.Fatalf("only %d files", len(files))
	}
	refused := 0
	for name, data := range files {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, release, err := l.Load(context.Background(), []Part{{Field: "f", Source: FrameScheme + "1"}}, all, "m", func(string) []byte { return data })
		runtime.ReadMemStats(&after)
		var told *refusal.Error
		switch {
		case err == nil:
			release()
		case errors.As(err, &told) && told.Field == "f":
			refused++
		default:
			t.Errorf("%s: %v", name, err)
		}
		if taken := int64(after.TotalAlloc - before.TotalAlloc); taken > o.Memory+4<<20 {
			t.Errorf("%s: %d bytes were taken", name, taken)
		}
	}
	if !l.memory.TryAcquire(o.Memory) {
		t.Error("not all memory came back")
	}
	t.Logf("%d of %d files were refused", refused, len(files))
}
