// SPDX-License-Identifier: MIT

//go:build !race

package media

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/media/mediatest"
	"github.com/penstock/penstock/host/media/picture"
	"github.com/penstock/penstock/tools/must"
)

// decodingEnv has a process of these tests decode so many pictures and say what memory it took.
const decodingEnv = "PENSTOCK_TEST_DECODING"

// What was used to decode is collected before its memory is used for something else: one large
// picture takes what its header says, and four one after another take no more than decoding may.
func TestLoader_Load_GarbageIsCollected(t *testing.T) {
	const memory, slack = 168 << 20, 8 << 20
	data := mediatest.Scans(4200, 4200, 3) // 88 MB are taken for it, or 18 MB and 53 MB of pixels
	if text := os.Getenv(decodingEnv); text != "" {
		decodeMany(t, text, data, Bounds{Pixels: 20_000_000, Memory: memory})
		return
	}
	file := must.Get(picture.Open(data, 20_000_000))(t)
	none := peakOf(t, 0)
	for n, most := range map[int]int64{1: file.Memory + slack, 4: memory} {
		if taken := peakOf(t, n) - none; taken > most {
			t.Errorf("%d pictures took %d MiB; at most %d may be taken", n, taken>>20, most>>20)
		} else {
			t.Logf("%d pictures took %d MiB", n, taken>>20)
		}
	}
}

// decodeMany decodes a picture so many times, and says what this process took at most.
func decodeMany(t *testing.T, text string, data []byte, o Bounds) {
	l := NewLoader(o)
	var n int
	must.Get(fmt.Sscan(text, &n))(t)
	for range n {
		_, release := must.Both(l.Load(context.Background(), "a", []Part{{Field: "f", Kind: Image, Source: FrameScheme + "1"}}, all, "m", func(string) []byte { return data }))(t)
		release()
	}
	status := must.Get(os.ReadFile("/proc/self/status"))(t)
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Println("peak", peak)
}

// peakOf is how many bytes a process takes at most that decodes so many pictures.
func peakOf(t *testing.T, pictures int) (bytes int64) {
	t.Helper()
	self := must.Get(os.Executable())(t)
	c := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$") //nolint:gosec // this test
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", decodingEnv, pictures))
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := fmt.Sscanf(string(out), "peak %d kB", &bytes); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bytes << 10
}
