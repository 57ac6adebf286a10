// SPDX-License-Identifier: MIT

package heap

import "math/bits"

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
