// SPDX-License-Identifier: MIT

//go:build tinygo && gc.custom

package heap

import (
	"runtime"
	"unsafe"
)

// The names of this file are those that TinyGo's runtime asks of a collector, see its gc_custom.go.

var (
	all        heap
	firstTable [1024]page // for the first 4 MiB
	allocated  uint64
	objects    uint64
)

//go:extern __heap_base
var heapBase [0]byte

//go:extern __global_base
var globalBase [0]byte

//export llvm.wasm.memory.size.i32
func memorySize(index int32) int32

//export llvm.wasm.memory.grow.i32
func memoryGrow(index, delta int32) int32

//go:linkname markStack runtime.markStack
func markStack()

const wasmPage = 65536 / pageSize // in our pages

//go:linkname initHeap runtime.initHeap
func initHeap() {
	all.base = (uintptr(unsafe.Pointer(&heapBase)) + pageSize - 1) &^ (pageSize - 1)
	all.total = max(0, int((uintptr(memorySize(0))*65536-all.base)>>pageShift))
	all.pages = firstTable[:]
	all.most = minGarbage
	all.roots, all.grow = markReachable, grow
}

func markReachable() {
	markStack()
	begin := uintptr(unsafe.Pointer(&all)) // what the collector keeps itself looks like pointers
	all.markAll(uintptr(unsafe.Pointer(&globalBase)), begin)
	all.markAll(begin+unsafe.Sizeof(all), uintptr(unsafe.Pointer(&heapBase)))
}

// spare is how many pages memory has behind the heap.
var spare int

// grow takes pages from memory, which grows by an eighth at least, so that it does not grow often.
func grow(pages int) bool {
	if missing := pages - spare; missing > 0 {
		more := (max(missing, all.total/8) + wasmPage - 1) / wasmPage
		if memoryGrow(0, int32(more)) < 0 {
			if more = (missing + wasmPage - 1) / wasmPage; memoryGrow(0, int32(more)) < 0 {
				return false
			}
		}
		spare += more * wasmPage
	}
	spare -= pages
	return true
}

//go:linkname alloc runtime.alloc
//go:noinline
func alloc(size uintptr, layout unsafe.Pointer) unsafe.Pointer {
	allocated += uint64(size)
	objects++
	p := all.alloc(size, pointerFree(uintptr(layout)))
	if p == nil {
		panic("out of memory")
	}
	return p
}

// pointerFree reads a layout as TinyGo describes it in gc_precise.go: the lowest bit says that
// bits of pointers are in the number itself.
func pointerFree(layout uintptr) bool { return layout&1 != 0 && layout>>6 == 0 }

//go:linkname freeObject runtime.free
func freeObject(unsafe.Pointer) {}

//go:linkname markRoots runtime.markRoots
func markRoots(begin, end uintptr) { all.markAll(begin, end) }

// GC is runtime.GC.
//
//go:linkname GC runtime.GC
func GC() { all.collect() }

//go:linkname setFinalizer runtime.SetFinalizer
func setFinalizer(_, _ any) {}

//go:linkname readMemStats runtime.ReadMemStats
func readMemStats(m *runtime.MemStats) {
	m.Sys, m.HeapSys = uint64(memorySize(0))*65536, uint64(all.total)<<pageShift
	m.HeapInuse, m.HeapAlloc, m.Alloc = uint64(all.inUse+all.since), uint64(all.inUse+all.since), uint64(all.inUse+all.since)
	m.HeapIdle = m.HeapSys - min(m.HeapSys, m.HeapInuse)
	m.TotalAlloc, m.Mallocs = allocated, objects
}
