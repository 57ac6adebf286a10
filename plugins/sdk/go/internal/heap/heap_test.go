// SPDX-License-Identifier: MIT

package heap

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"unsafe"
)

// world is a heap in memory of the test's, with roots, and what each object must have.
type world struct {
	heap
	t      *testing.T
	memory []uint64 // of which the heap has got some pages
	roots  []uintptr
	alive  map[uintptr]*object
}

type object struct {
	size   uintptr
	fields []uintptr // addresses of others, or 0; nil: it has no pointers and its bytes are mark
	mark   byte
}

func newWorld(t *testing.T, pages, table int) *world {
	w := &world{t: t, memory: make([]uint64, (pages+1)*pageSize/8), alive: map[uintptr]*object{}}
	begin := uintptr(unsafe.Pointer(&w.memory[0]))
	w.base = (begin + pageSize - 1) &^ (pageSize - 1)
	w.pages, w.most = make([]page, table), minGarbage
	w.heap.roots = func() {
		for _, r := range w.roots {
			w.mark(r)
		}
	}
	got := 0
	w.grow = func(n int) bool {
		if got+n > pages {
			return false
		}
		got += n
		return true
	}
	return w
}

// make makes an object, which the next root holds.
func (w *world) make(size uintptr, fields []uintptr, mark byte) bool {
	p := w.alloc(size, fields == nil)
	if p == nil {
		return false
	}
	bytes := unsafe.Slice((*byte)(p), size)
	for i, b := range bytes {
		if b != 0 {
			w.t.Fatalf("byte %d of a new object of %d bytes is %d", i, size, b)
		}
	}
	at := uintptr(p)
	if fields == nil {
		for i := range bytes {
			bytes[i] = mark
		}
	} else {
		copy(unsafe.Slice((*uintptr)(p), len(fields)), fields)
	}
	w.alive[at] = &object{size, fields, mark}
	w.roots = append(w.roots, at)
	return true
}

func (w *world) reachable() map[uintptr]bool {
	seen := map[uintptr]bool{}
	todo := append([]uintptr(nil), w.roots...)
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at == 0 || seen[at] {
			continue
		}
		seen[at] = true
		todo = append(todo, w.alive[at].fields...)
	}
	return seen
}

// check looks at all objects that are in use.
func (w *world) check() {
	w.t.Helper()
	seen := w.reachable()
	for at := range seen {
		o, p := w.alive[at], w.pointer(at)
		for i, f := range unsafe.Slice((*uintptr)(p), len(o.fields)) {
			if f != o.fields[i] {
				w.t.Fatalf("field %d of an object of %d bytes was lost", i, o.size)
			}
		}
		if o.fields == nil {
			for _, b := range unsafe.Slice((*byte)(p), o.size) {
				if b != o.mark {
					w.t.Fatalf("an object of %d bytes was written over", o.size)
				}
			}
		}
	}
	for at := range w.alive {
		if !seen[at] {
			delete(w.alive, at)
		}
	}
}

func random(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	if text := os.Getenv("PENSTOCK_TEST_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("PENSTOCK_TEST_SEED=%d draws the same again", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// A random world of objects that point to each other: what is in use stays as it is, and the rest
// is used again.
func TestHeap_Alloc_RandomWorld(t *testing.T) {
	r := random(t)
	for range 3 {
		w := newWorld(t, 4000, 64)
		for n := range 6000 {
			size := 1 + uintptr(r.IntN(400))
			switch r.IntN(100) {
			case 0:
				size = uintptr(1 + r.IntN(200_000))
			case 1, 2, 3:
				size = uintptr(1 + r.IntN(5000))
			}
			var fields []uintptr
			if r.IntN(2) == 0 {
				fields = make([]uintptr, min(size/wordSize, 1+uintptr(r.IntN(2000))))
				for i := range fields {
					if len(w.roots) > 0 {
						fields[i] = w.roots[r.IntN(len(w.roots))]
					}
				}
			}
			if !w.make(size, fields, byte(1+r.IntN(255))) {
				t.Fatalf("there is no memory after %d objects", n)
			}
			for len(w.roots) > 20+r.IntN(100) {
				at := r.IntN(len(w.roots))
				w.roots = append(w.roots[:at], w.roots[at+1:]...)
			}
			if n%1000 == 0 {
				w.roots = w.roots[:0] // fields keep their objects in use: nearly all would be after some time
				w.check()
			}
		}
		w.check()
	}
}

// A list is as deep as it is long, and a tree has more at once than the stack of objects to look
// at has room for.
func TestHeap_Collect_DeepAndWide(t *testing.T) {
	w := newWorld(t, 8000, 16)
	last := uintptr(0)
	for range 20_000 {
		w.roots = append(w.roots[:0], last)
		if !w.make(24, []uintptr{last}, 0) {
			t.Fatal("there is no memory")
		}
		last = w.roots[1]
	}
	wide := make([]uintptr, 0, 20_000)
	for range cap(wide) {
		w.roots = append(wide, last)
		if !w.make(16, []uintptr{0}, 0) {
			t.Fatal("there is no memory")
		}
		wide = append(wide, w.roots[len(w.roots)-1])
	}
	w.roots = append(wide, last)
	if !w.make(uintptr(len(wide))*wordSize, wide, 0) {
		t.Fatal("there is no memory")
	}
	w.roots = []uintptr{last, w.roots[len(w.roots)-1]}
	w.collect()
	for range 5000 {
		w.roots = w.roots[:2]
		if !w.make(1000, nil, 7) {
			t.Fatal("there is no memory")
		}
	}
	w.check()
}

func TestHeap_Alloc_EndsWhereMemoryDoes(t *testing.T) {
	w := newWorld(t, 100, 1000)
	for w.make(3000, nil, 1) {
	}
	if n := len(w.roots); n < 95 || n > 100 {
		t.Errorf("%d objects of a page each in 100 pages", n)
	}
	w.roots = w.roots[:10]
	if !w.make(40*pageSize, nil, 2) || w.make(^uintptr(0), nil, 1) || w.make(60*pageSize, nil, 1) {
		t.Error("what is free is not used, or more is")
	}
	w.check()
}

// A large object for each token, of which the last alone is in use, takes the memory of a few.
func TestHeap_Alloc_UsesLargeObjectsAgain(t *testing.T) {
	w := newWorld(t, 16000, 1024)
	for range 200 {
		w.roots = w.roots[max(0, len(w.roots)-1):]
		if !w.make(1<<20, nil, 3) {
			t.Fatal("there is no memory")
		}
	}
	if most := 8 << 20 >> pageShift; w.total > most {
		t.Errorf("the heap has %d pages, more than %d", w.total, most)
	}
}
