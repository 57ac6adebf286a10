// SPDX-License-Identifier: MIT

package memory

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
)

// span is a stretch of bytes, of whole pages of the system.
type span struct{ at, size int }

// mostSpans bounds the stretches of a difference; see mostMapped.
const mostSpans = 16

// findChanges finds the pages of content that differ from base, or from zero beyond its end. If
// they are scattered, unchanged pages between them are included.
func findChanges(content, base []byte) (spans []span) {
	page := os.Getpagesize()
	zero := make([]byte, page)
	for at := 0; at < len(content); at += page {
		before := zero
		if at < len(base) {
			before = base[at : at+page]
		}
		if bytes.Equal(content[at:at+page], before) {
			continue
		}
		if last := len(spans) - 1; last >= 0 && spans[last].at+spans[last].size == at {
			spans[last].size += page
		} else {
			spans = append(spans, span{at, page})
		}
	}
	return mergeSpans(spans)
}

// mergeSpans closes the smallest gaps between stretches until there are few enough.
func mergeSpans(spans []span) []span {
	if len(spans) <= mostSpans {
		return spans
	}
	gap := func(n int) int { return spans[n].at - spans[n-1].at - spans[n-1].size } // before stretch n
	var gaps []int
	for n := 1; n < len(spans); n++ {
		gaps = append(gaps, gap(n))
	}
	slices.Sort(gaps)
	closed := gaps[len(gaps)-mostSpans] // this one and all that are smaller
	few := spans[:1:1]
	for n := 1; n < len(spans); n++ {
		if s, last := spans[n], &few[len(few)-1]; gap(n) <= closed {
			last.size = s.at + s.size - last.at
		} else {
			few = append(few, s)
		}
	}
	return few
}

// Difference keeps the content as an image that shares unchanged pages with base. If it would have
// more than most bytes of its own, the error wraps ErrChanged. No guest may run meanwhile. The base
// must not be a difference itself, and must stay open for as long as the image is used.
func (r *Region) Difference(base *Image, most uint64) (*Image, error) {
	if r.reserved == nil {
		return nil, fmt.Errorf("failed to take a snapshot: %w", ErrFreed)
	}
	content := r.Bytes()
	var spans []span
	if err := base.read(func(before []byte) { spans = findChanges(content, before) }); err != nil {
		return nil, err
	}
	size := uint64(0)
	for _, s := range spans {
		size += uint64(s.size)
	}
	if size > most {
		return nil, fmt.Errorf("%w: %d KiB; %d KiB are the most", ErrChanged, size>>10, most>>10)
	}
	own := make([]byte, 0, size)
	for _, s := range spans {
		own = append(own, content[s.at:s.at+s.size]...)
	}
	i, err := newImage(own)
	if err != nil {
		return nil, err
	}
	i.size, i.base, i.spans = uint64(len(content)), base, spans
	return i, nil
}

// Own returns how many bytes the image does not share with its base.
func (i *Image) Own() (bytes uint64) {
	if i.base == nil {
		return i.size
	}
	for _, s := range i.spans {
		bytes += uint64(s.size)
	}
	return bytes
}

// mostMapped bounds the stretches that all regions map. Each takes two mappings, of which a process
// can have 65,530 unless the operator changes that, and a Go program that gets no more ends.
// Further stretches are copied.
const mostMapped = 8192

// mapped counts the stretches that regions have mapped.
var mapped atomic.Int64

// restore writes the image over to, which has its size. It returns how many stretches it mapped.
func (i *Image) restore(to []byte) (stretches int, _ error) {
	if i.base == nil {
		return 0, i.overlay(to, 0)
	}
	if err := i.base.overlay(to[:i.base.size], 0); err != nil {
		return 0, err
	}
	n := len(i.spans)
	if mapped.Add(int64(n)) > mostMapped {
		mapped.Add(-int64(n))
		return 0, i.read(func(own []byte) {
			for _, s := range i.spans {
				own = own[copy(to[s.at:s.at+s.size], own):]
			}
		})
	}
	from := 0
	for _, s := range i.spans {
		if err := i.overlay(to[s.at:s.at+s.size], from); err != nil {
			return n, err
		}
		from += s.size
	}
	return n, nil
}
