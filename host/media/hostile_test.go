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
	"time"

	"github.com/penstock/penstock/host/media/mediatest"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// mediatestBounds are what the files of mediatest are too large for.
var mediatestBounds = Bounds{Pixels: mediatest.Pixels, Sound: mediatest.Seconds * time.Second, Memory: mediatest.Memory}

// Each file of mediatest is refused by its field, and takes little: no more memory than all files
// may, and no more time than some good pictures of as many pixels as one may have.
func TestLoader_Load_EachHostileFileIsRefused(t *testing.T) {
	l := NewLoader(mediatestBounds)
	load := func(kind Kind, data []byte) error {
		_, release, err := l.Load(context.Background(), "a", []Part{{Field: "f", Kind: kind, Source: FrameScheme + "1"}}, all, "m", func(string) []byte { return data })
		if err == nil {
			release()
		}
		return err
	}
	good := mediatest.PNG(1000, 1000)
	cost := steadytest.Cost(t, func() {
		must.Do(t, load(Image, good))
	})
	files := mediatest.Hostile()
	if len(files) < 200 {
		t.Fatalf("only %d files", len(files))
	}
	names := map[string]bool{}
	var most time.Duration
	for _, f := range files {
		if names[f.Name] {
			t.Errorf("two files are called %s", f.Name)
		}
		names[f.Name] = true
		kind := Image
		if f.Sound {
			kind = Audio
		}
		var err error
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		took := steadytest.Cost(t, func() { err = load(kind, f.Data) })
		runtime.ReadMemStats(&after)
		if most = max(most, took); took > 10*cost {
			t.Errorf("%s: took %v; a good picture takes %v", f.Name, took, cost)
		}
		var told *refusal.Error
		if !errors.As(err, &told) || told.Field != "f" || told.Kind != refusal.KindInvalid {
			t.Errorf("%s: %v", f.Name, err)
		}
		if taken := int64(after.TotalAlloc-before.TotalAlloc) / 3; taken > mediatest.Memory {
			t.Errorf("%s: %d bytes were taken", f.Name, taken)
		}
	}
	if l.memory.room.Used() != 0 {
		t.Error("not all memory came back")
	}
	t.Logf("%d files, of which the most costly took %v; a good one of a million pixels takes %v", len(files), most, cost)
}

// hostileFiles are the files of the tests, each cut off, with each of its first bytes changed,
// with another file behind it and before it.
func hostileFiles(t *testing.T) map[string][]byte {
	t.Helper()
	out, files := map[string][]byte{}, map[string][]byte{"wav": wavOf(100), "png": pngOf(t, 30, 20)}
	for _, pattern := range []string{"picture/testdata/*.*", "sound/testdata/*.*"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			data := must.Get(os.ReadFile(name))(t)
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

// Whatever a file has, it is read or refused by its field, takes no more memory than all files
// may, and gives all of it back.
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
		_, release, err := l.Load(context.Background(), "a", []Part{{Field: "f", Source: FrameScheme + "1"}}, all, "m", func(string) []byte { return data })
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
	if l.memory.room.Used() != 0 {
		t.Error("not all memory came back")
	}
	t.Logf("%d of %d files were refused", refused, len(files))
}
