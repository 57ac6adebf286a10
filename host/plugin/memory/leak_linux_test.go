// SPDX-License-Identifier: MIT

package memory

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
)

// mappings counts the process's mappings.
func mappings(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}

func TestRegion_Close_LeavesNoMapping(t *testing.T) {
	r := runtime(t)
	warm, region := instance(t, r)
	image, err := region.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	defer warm.Close(context.Background())
	before := mappings(t)
	const rounds = 300
	for range rounds {
		mod, copied := instance(t, r)
		if err := copied.Restore(mod.Memory(), image); err != nil {
			t.Fatal(err)
		}
		if err := mod.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	// The Go heap and compiled code may map a little; a leak maps at least
	// one range a round.
	if after := mappings(t); after-before > rounds/3 {
		t.Errorf("%d mappings before, %d after %d instances", before, after, rounds)
	}
}

func TestImage_File_IsSealed(t *testing.T) {
	_, region := instance(t, runtime(t))
	image, err := region.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", image.fd), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{1}, 0); err == nil {
		t.Error("an image can be written to")
	}
	if err := f.Truncate(0); err == nil {
		t.Error("an image can be cut, which would kill who maps it")
	}
}
