// SPDX-License-Identifier: MIT

package memory

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// mappings counts the process's mappings.
func mappings(t *testing.T) int {
	t.Helper()
	text := must.Get(os.ReadFile("/proc/self/maps"))(t)
	return bytes.Count(text, []byte("\n"))
}

func TestRegion_Close_LeavesNoMapping(t *testing.T) {
	r := runtime(t)
	warm, region := instance(t, r)
	image := must.Get(region.Snapshot())(t)
	defer image.Close()
	defer warm.Close(context.Background())
	before := mappings(t)
	const rounds = 300
	for range rounds {
		mod, copied := instance(t, r)
		must.Do(t, copied.Restore(mod.Memory(), image))
		must.Do(t, mod.Close(context.Background()))
	}
	// The Go heap and compiled code may map a little; a leak maps at least
	// one range a round.
	if after := mappings(t); after-before > rounds/3 {
		t.Errorf("%d mappings before, %d after %d instances", before, after, rounds)
	}
}

func TestImage_File_IsSealed(t *testing.T) {
	_, region := instance(t, runtime(t))
	image := must.Get(region.Snapshot())(t)
	defer image.Close()
	f := must.Get(os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", image.fd), os.O_RDWR, 0))(t)
	defer f.Close()
	if _, err := f.WriteAt([]byte{1}, 0); err == nil {
		t.Error("an image can be written to")
	}
	if err := f.Truncate(0); err == nil {
		t.Error("an image can be cut, which would kill who maps it")
	}
}
