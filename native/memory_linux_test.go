// SPDX-License-Identifier: MIT

package native

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// ownBytes is the memory that this process has written to, in RAM or swapped out. What else the
// machine does leaves it as it is.
func ownBytes(t testing.TB) int {
	t.Helper()
	debug.FreeOSMemory()
	return statusBytes(t, "RssAnon") + statusBytes(t, "VmSwap")
}

// fileBytes is how much of the files that this process maps is in RAM. The kernel may take it
// away, and no more comes than was read.
func fileBytes(t testing.TB) int {
	t.Helper()
	return statusBytes(t, "RssFile")
}

func statusBytes(t testing.TB, name string) int {
	t.Helper()
	text := must.Get(os.ReadFile("/proc/self/status"))(t)
	_, line, found := strings.Cut(string(text), name+":")
	var kib int
	if _, err := fmt.Sscanf(line, "%d kB", &kib); err != nil || !found {
		t.Fatalf("%v: no %s in %s", err, name, text)
	}
	return kib << 10
}

// mappings counts how often this process maps a file.
func mappings(t testing.TB, path string) int {
	t.Helper()
	maps := must.Get(os.ReadFile("/proc/self/maps"))(t)
	return bytes.Count(maps, []byte("/"+filepath.Base(path)))
}

// residentPages is how many bytes of a file this process has mapped and in RAM.
func residentPages(t *testing.T, path string) (n int) {
	t.Helper()
	maps := must.Get(os.ReadFile("/proc/self/smaps"))(t)
	of := false
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		if line := lines.Text(); strings.Contains(line[:min(20, len(line))], "-") {
			of = strings.HasSuffix(line, "/"+filepath.Base(path))
		} else if size, found := strings.CutPrefix(line, "Rss:"); found && of {
			var kib int
			must.Get(fmt.Sscanf(size, "%d kB", &kib))(t)
			n += kib << 10
		}
	}
	return n
}

// Of the file's pages only those stay whose weights are used as they are in it: not the ones that
// were laid out anew.
func TestLoad_GivesBackPages(t *testing.T) {
	useOnly(t, PenstockKernels)
	shape := tiedShape
	shape.Dim, shape.FFN, shape.Layers = 512, 1536, 6
	tied := syntheticFile(t, shape, synth.Q80)
	for _, c := range []struct {
		name, path  string
		asInFile    bool
		least, most float64 // of the weights
	}{{"tied", tied, false, 0, 0.1}, {"untied", untied(t, tied), false, 0, 0.5}, {"as in the file", tied, true, 0.5, 1.1}} {
		t.Run(c.name, func(t *testing.T) {
			m := load(t, c.path, ModelOptions{NoRepack: c.asInFile})
			logitsOf(t, m, ContextOptions{Cells: 1024, Sequences: 3, Rows: 256, Threads: 2}) // brings back what is read
			got, size := residentPages(t, c.path), float64(m.Info().Size)
			t.Logf("%d KiB of the file are in RAM, and it has %.0f KiB of weights", got>>10, size/1024)
			if share := float64(got) / size; share < c.least || share > c.most {
				t.Errorf("%d bytes of the file are in RAM, %.2f of the weights; want %.1f to %.1f", got, share, c.least, c.most)
			}
		})
	}
}

// lockedBytes is the memory of this process that stays in RAM.
func lockedBytes(t *testing.T) int {
	t.Helper()
	status := must.Get(os.ReadFile("/proc/self/status"))(t)
	found := regexp.MustCompile(`VmLck:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatal("there is no VmLck in /proc/self/status")
	}
	n := must.Get(strconv.Atoi(string(found[1])))(t)
	return n << 10
}

// All weights stay in RAM, once, whether kernels lay them out anew or not, and none of it after
// the model: not even where the heap keeps the memory, as it does that of weights under 4 MiB.
func TestLoad_Locked(t *testing.T) {
	var limit syscall.Rlimit
	const memlock = 8 // RLIMIT_MEMLOCK
	if err := syscall.Getrlimit(memlock, &limit); err != nil || os.Geteuid() != 0 && limit.Cur < 64<<20 {
		t.Skipf("SKIPPED: this user may lock %d bytes of memory (error %v)", limit.Cur, err)
	}
	const ends = 64 << 10 // the pages at both ends of each piece of memory
	for _, shape := range []synth.Shape{
		{Name: "locked", Dim: 512, Layers: 6, Heads: 8, KVHeads: 8, FFN: 1536, Context: 2048},
		{Name: "locked in the heap", Dim: 256, Layers: 6, Heads: 4, KVHeads: 4, FFN: 768, Context: 2048},
	} {
		path := syntheticFile(t, shape, synth.Q40)
		for _, mode := range []string{"mlock", "mmap+mlock"} {
			for _, asInFile := range []bool{false, true} {
				before := lockedBytes(t)
				options := ModelOptions{LoadMode: mode, NoRepack: asInFile}
				m := loadedModel(t, path, options)
				size := int(m.Info().Size)
				if got := lockedBytes(t) - before; got < size-ends || got > size*3/2 {
					t.Errorf("%s, %s, as in the file: %t: %d bytes are locked; the weights have %d", shape.Name, mode, asInFile, got, size)
				}
				above := loadedModel(t, path, options) // so that the heap cannot give back the first one's memory
				closed(t, m)
				closed(t, above)
				if got := lockedBytes(t) - before; got > ends {
					t.Errorf("%s, %s, as in the file: %t: %d bytes stay locked", shape.Name, mode, asInFile, got)
				}
			}
		}
	}
}

func loadedModel(t *testing.T, path string, options ModelOptions) *Model {
	t.Helper()
	return must.Get(LoadModel(t.Context(), path, options))(t)
}

func closed(t *testing.T, m *Model) {
	t.Helper()
	must.Do(t, m.Close())
}

// hugeBytes is the memory for which this process has asked for huge pages.
func hugeBytes(t *testing.T) (all int) {
	t.Helper()
	f := must.Get(os.Open("/proc/self/smaps"))(t)
	defer f.Close()
	var kib int
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "Size:") {
			must.Get(fmt.Sscanf(lines.Text(), "Size: %d kB", &kib))(t)
		}
		if strings.HasPrefix(lines.Text(), "VmFlags:") && strings.Contains(lines.Text()+" ", " hg ") {
			all += kib << 10
		}
	}
	return all
}

// Keys and values lie in huge pages where the system has them, also those of window layers.
func TestContext_HugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no huge pages")
	}
	for _, path := range []string{builtIn, small(t, "cohere2")} {
		m := load(t, path, ModelOptions{})
		before := hugeBytes(t)
		// Each cache has 32 MiB, which the C library always takes from the kernel: smaller ones may
		// lie where another test's had huge pages.
		c := newContext(t, m, ContextOptions{Cells: 1 << 18, Sequences: 1, Threads: 1, FlashAttention: "on", FullWindowCache: true})
		memory := must.Get(c.Memory())(t)
		cells := int(memory[0].Cells)
		const ends = 2 * 2 * 2 << 20 // two caches may begin and end within a page
		if got := hugeBytes(t) - before; got < cells-ends || cells < 4*ends {
			t.Errorf("%s: huge pages for %d bytes of %d", path, got, cells)
		}
		var b Batch
		b.Add(1, 0, 0, true)
		decode(t, c, &b)
	}
}

// What threads at work have freed stays with the C library; ReturnMemory gives most of it back,
// whether something is still in use above it or not.
func TestReturnMemory(t *testing.T) {
	t.Run("below what is in use", func(t *testing.T) { testReturnMemory(t, 1) })
	t.Run("all of it", func(t *testing.T) { testReturnMemory(t, 0) })
}

func testReturnMemory(t *testing.T, inUse int) {
	m := loadBuiltIn(t, ModelOptions{})
	if _, err := m.Tokenize(t.Context(), strings.Repeat("Once upon a time. ", 1<<18), TokenizeOptions{}); err != nil { // frees blocks as large as any
		t.Fatal(err)
	}
	ReturnMemory()
	before := ownBytes(t)
	const threads = 16
	var begin, ready, end sync.WaitGroup
	begin.Add(1)
	ready.Add(threads)
	for range threads {
		end.Go(func() {
			runtime.LockOSThread()
			var samplers []*Sampler
			for range 6 {
				o := defaultSamplerOptions()
				o.Chain, o.RepeatLastN, o.RepeatPenalty = []SamplerKind{Penalties}, 1<<18, 1.5 // of which it keeps 1 MiB
				s, err := NewSampler(m, o)
				if err != nil {
					t.Error(err)
					break
				}
				samplers = append(samplers, s)
			}
			ready.Done()
			begin.Wait()
			for _, s := range samplers[:len(samplers)-inUse] { // the last lies above the others
				closing(t, s)
			}
		})
	}
	ready.Wait()
	held := ownBytes(t)
	begin.Done()
	end.Wait()
	kept := ownBytes(t)
	ReturnMemory()
	left := ownBytes(t)
	t.Logf("%d MiB before, %d with all samplers, %d without them, %d after ReturnMemory", before>>20, held>>20, kept>>20, left>>20)
	if left-before > 16<<20 {
		t.Errorf("%d bytes before, %d with all samplers, %d without them, %d after ReturnMemory: it leaves too much", before, held, kept, left)
	}
}
