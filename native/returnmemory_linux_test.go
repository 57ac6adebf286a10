// SPDX-License-Identifier: MIT

package native

import (
	"runtime"
	"sync"
	"testing"
)

// What threads at work have freed stays with the C library; ReturnMemory gives most of it back.
func TestReturnMemory(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	grammar, err := GrammarOfSchema(largeSchema())
	if err != nil {
		t.Fatal(err)
	}
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
				o.Grammar = grammar
				s, err := NewSampler(m, o)
				if err != nil {
					t.Error(err)
					break
				}
				samplers = append(samplers, s)
			}
			ready.Done()
			begin.Wait()
			for _, s := range samplers[:len(samplers)-1] { // the last, in the way of what lies below it, is closed with the test
				closing(t, s)
			}
		})
	}
	ready.Wait()
	held := residentBytes(t)
	begin.Done()
	end.Wait()
	kept := residentBytes(t)
	ReturnMemory()
	left := residentBytes(t)
	t.Logf("%d MiB with all samplers, %d without them, %d after ReturnMemory", held>>20, kept>>20, left>>20)
	if kept-left < 1<<20 {
		t.Errorf("%d bytes with all samplers, %d without them, %d after ReturnMemory: it gives nothing back", held, kept, left)
	}
}
