// SPDX-License-Identifier: MIT

package native

import (
	"runtime"
	"strings"
	"sync"
	"testing"
)

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
