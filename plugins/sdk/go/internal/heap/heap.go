// SPDX-License-Identifier: MIT

// Package heap is the garbage collector of plugins that TinyGo builds, since the target of this SDK
// says "gc": "custom". TinyGo's own collector scans each 16 bytes of the heap several times at each
// collection, for 80 units of fuel or more each: a plugin with a table of 2 MiB would run out of
// fuel at its first collection.
//
// Memory consists of pages of 4 KiB. A page has objects of one size, with a bit for each that says
// whether it is in use, or it belongs to one large object. A collection costs about 60 units for
// each page, and 10 for each word of objects that may hold pointers; objects without pointers, such
// as numbers and text, are not scanned. A collection runs once as much has been allocated as was in
// use after the last one, and at least minGarbage.
package heap

import (
	"math/bits"
	"unsafe"
)

const (
	pageSize   = 4096
	pageShift  = 12
	headerSize = 64 // of a page of small objects
	wordSize   = unsafe.Sizeof(uintptr(0))
	minGarbage = 256 << 10 // bytes
)

// kind is what a page is used for.
type kind uint8

const (
	free    kind = iota
	small        // objects of one size
	large        // the first page of a large object
	tail         // another one
	ours         // the table of pages
	classes = 22
)

// page describes a page.
type page struct {
	kind   kind
	class  uint8  // small: of the size
	atomic bool   // there are no pointers in it
	marked bool   // large: it is in use
	n      uint32 // large: how many pages; tail: how many behind the first; small: the next page with room, counted from 1
}

// header is the beginning of a page of small objects: a bit for each.
type header struct{ used, marked [8]uint32 }

// sizes of small objects. They are multiples of 16, and as many as possible fit a page.
var sizes = [classes]uint16{16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1008, 1344, 2016}

// heap is memory from base on. It is all zeros at first.
type heap struct {
	base  uintptr // of page 0
	pages []page  // as many as there is room for; those from total on are not there yet
	total int

	room     [2 * classes]uint32 // for each class, those that are atomic after the others: the first page with room, counted from 1
	lowest   int                 // no page below is free
	since    uintptr             // bytes allocated since the last collection
	most     uintptr             // as many may be
	inUse    uintptr             // bytes of pages that were in use after the last collection
	stack    [512]span           // objects to look at
	depth    int
	overflow bool // some marked objects are not on the stack

	roots func()               // marks what is reachable at once
	grow  func(pages int) bool // adds pages at the end, all zeros
}

// span is memory that may hold pointers.
type span struct{ begin, size uintptr }

// nothing is where objects without a size are.
var nothing uint8

// alloc returns zeroed memory, or nil if there is no more.
func (h *heap) alloc(size uintptr, atomic bool) unsafe.Pointer {
	if size == 0 {
		return unsafe.Pointer(&nothing)
	}
	if h.since >= h.most {
		h.collect()
	}
	h.since += size
	if size > uintptr(sizes[classes-1]) {
		return h.allocLarge(size, atomic)
	}
	class := classOf(size)
	list := &h.room[roomOf(class, atomic)]
	for {
		if *list == 0 && !h.addPage(class, atomic) {
			return nil
		}
		at := int(*list - 1)
		if p := h.take(at, class); p != nil {
			return p
		}
		*list = h.pages[at].n
	}
}

func roomOf(class int, atomic bool) int {
	if atomic {
		return classes + class
	}
	return class
}

func classOf(size uintptr) int {
	if size <= 128 {
		return int(size+15)/16 - 1
	}
	class := 8
	for uintptr(sizes[class]) < size {
		class++
	}
	return class
}

// capacity is how many objects a page has.
func capacity(class int) int { return (pageSize - headerSize) / int(sizes[class]) }

func (h *heap) header(at int) *header { return (*header)(h.pointer(h.base + uintptr(at)<<pageShift)) }

// pointer is an address of the heap as a pointer.
func (h *heap) pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// take takes a free object of a page, if there is one.
func (h *heap) take(at, class int) unsafe.Pointer {
	header, n := h.header(at), capacity(class)
	for w := range header.used {
		if header.used[w] == ^uint32(0) {
			continue
		}
		i := 32*w + bits.TrailingZeros32(^header.used[w])
		if i >= n {
			return nil
		}
		header.used[w] |= 1 << (i & 31)
		size := uintptr(sizes[class])
		p := h.pointer(h.base + uintptr(at)<<pageShift + headerSize + uintptr(i)*size)
		clear(unsafe.Slice((*byte)(p), size))
		return p
	}
	return nil
}

// addPage makes a page the one with room for a class.
func (h *heap) addPage(class int, atomic bool) bool {
	at := h.find(1)
	if at < 0 {
		return false
	}
	list := &h.room[roomOf(class, atomic)]
	h.pages[at] = page{kind: small, class: uint8(class), atomic: atomic, n: *list}
	*h.header(at) = header{}
	*list = uint32(at + 1)
	return true
}

func (h *heap) allocLarge(size uintptr, atomic bool) unsafe.Pointer {
	n := int((size + pageSize - 1) >> pageShift)
	if n <= 0 {
		return nil // the size is near the end of all numbers
	}
	at := h.find(n)
	if at < 0 {
		return nil
	}
	h.pages[at] = page{kind: large, atomic: atomic, n: uint32(n)}
	for i := 1; i < n; i++ {
		h.pages[at+i] = page{kind: tail, n: uint32(i)}
	}
	p := h.pointer(h.base + uintptr(at)<<pageShift)
	clear(unsafe.Slice((*byte)(p), n<<pageShift))
	return p
}

// find finds so many free pages in a row: the first there are, or new ones. It returns −1 if there
// is no memory.
func (h *heap) find(n int) int {
	for again := false; ; again = true {
		run, first := 0, true
		for at := h.lowest; at < h.total; at++ {
			if h.pages[at].kind != free {
				run = 0
				continue
			}
			if first {
				h.lowest, first = at, false
			}
			if run++; run == n {
				return at - n + 1
			}
		}
		if h.extend(n, run) {
			return h.total - n
		}
		if again {
			return -1
		}
		h.collect() // memory is short
	}
}

// extend adds as many pages as are missing where the last free ones are to be n. The table of
// pages moves to new pages before where it is full, and then none of those before are next to the
// end.
func (h *heap) extend(n, last int) bool {
	if h.total+n > len(h.pages) {
		room := 2 * (h.total + n)
		own := int((uintptr(room)*unsafe.Sizeof(page{}) + pageSize - 1) >> pageShift)
		room += own
		if own = int((uintptr(room)*unsafe.Sizeof(page{}) + pageSize - 1) >> pageShift); !h.grow(own) {
			return false
		}
		table := unsafe.Slice((*page)(h.pointer(h.base+uintptr(h.total)<<pageShift)), room)
		copy(table, h.pages[:h.total])
		for i := range own {
			table[h.total+i].kind = ours
		}
		h.pages, h.total, last = table, h.total+own, 0
	}
	if !h.grow(n - last) {
		return false
	}
	h.total += n - last
	return true
}

// piece is how much of an object is looked at before what it points to is.
const piece = 512

// collect finds out which objects are in use, and makes the others free.
func (h *heap) collect() {
	h.roots()
	h.drain()
	for h.overflow {
		h.overflow = false
		h.again()
	}
	h.sweep()
	h.since, h.most = 0, max(minGarbage, h.inUse)
}

// markAll marks the objects that memory points to.
func (h *heap) markAll(begin, end uintptr) {
	for at := (begin + wordSize - 1) &^ (wordSize - 1); at+wordSize <= end; at += wordSize {
		h.mark(*(*uintptr)(h.pointer(at)))
	}
}

// mark marks the object that an address lies in, if it does in one, and puts it on the stack where
// it may hold pointers.
func (h *heap) mark(address uintptr) {
	if address < h.base || address >= h.base+uintptr(h.total)<<pageShift {
		return
	}
	at := int((address - h.base) >> pageShift)
	p := &h.pages[at]
	switch p.kind {
	case small:
		offset := address&(pageSize-1) - headerSize
		if address&(pageSize-1) < headerSize {
			return
		}
		size := uintptr(sizes[p.class])
		i := offset / size
		w, bit := i/32, uint32(1)<<(i&31)
		header := h.header(at)
		if w >= 8 || header.used[w]&bit == 0 || header.marked[w]&bit != 0 {
			return
		}
		header.marked[w] |= bit
		if !p.atomic {
			h.push(span{address - offset%size, size})
		}
	case tail:
		at -= int(p.n)
		p = &h.pages[at]
		fallthrough
	case large:
		if p.marked {
			return
		}
		if p.marked = true; !p.atomic {
			h.push(span{h.base + uintptr(at)<<pageShift, uintptr(p.n) << pageShift})
		}
	}
}

func (h *heap) push(s span) {
	if h.depth == len(h.stack) {
		h.overflow = true
		return
	}
	h.stack[h.depth] = s
	h.depth++
}

// drain looks at all that is on the stack.
func (h *heap) drain() {
	for h.depth > 0 {
		top := &h.stack[h.depth-1]
		s := *top
		if s.size > piece {
			top.begin, top.size, s.size = s.begin+piece, s.size-piece, piece
		} else {
			h.depth--
		}
		h.markAll(s.begin, s.begin+s.size)
	}
}

// again scans all marked objects once more, since some were left out.
func (h *heap) again() {
	for at := 0; at < h.total; at++ {
		switch p := &h.pages[at]; {
		case p.atomic:
		case p.kind == large && p.marked:
			h.push(span{h.base + uintptr(at)<<pageShift, uintptr(p.n) << pageShift})
			h.drain()
		case p.kind == small:
			size, begin := uintptr(sizes[p.class]), h.base+uintptr(at)<<pageShift+headerSize
			header := h.header(at)
			for i := range capacity(int(p.class)) {
				if header.marked[i/32]>>(i&31)&1 == 1 {
					h.push(span{begin + uintptr(i)*size, size})
					h.drain()
				}
			}
		}
	}
}

// sweep frees what is not marked.
func (h *heap) sweep() {
	h.room, h.lowest, h.inUse = [2 * classes]uint32{}, h.total, 0
	for at := h.total - 1; at >= 0; at-- {
		p := &h.pages[at]
		switch p.kind {
		case small:
			h.sweepSmall(at, p)
		case large:
			if p.marked {
				p.marked = false
				h.inUse += uintptr(p.n) << pageShift
				continue
			}
			for i := range int(p.n) {
				h.pages[at+i] = page{}
			}
		}
		if h.pages[at].kind == free {
			h.lowest = at
		}
	}
}

func (h *heap) sweepSmall(at int, p *page) {
	header, n := h.header(at), 0
	for w := range header.marked {
		n += bits.OnesCount32(header.marked[w])
	}
	if n == 0 {
		*p = page{}
		return
	}
	header.used, header.marked = header.marked, [8]uint32{}
	h.inUse += uintptr(n) * uintptr(sizes[p.class])
	if n < capacity(int(p.class)) {
		list := &h.room[roomOf(int(p.class), p.atomic)]
		p.n, *list = *list, uint32(at+1)
	}
}
