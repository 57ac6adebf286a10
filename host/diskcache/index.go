// SPDX-License-Identifier: MIT

package diskcache

import (
	"slices"
	"sort"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// entry is a file that is known.
type entry struct {
	id      uint64 // in this process
	name    string
	bytes   int64
	used    time.Time
	foreign bool // written with another key, or by another version: it only takes room
	in      space
	about   about
	digests []kvcache.Digest
}

// common is how many tokens a request has in common with the conversation, as far as digests tell.
// Each digest is one of all blocks up to there.
func (e *entry) common(digests []kvcache.Digest) int {
	n := min(len(digests), len(e.digests))
	return kvcache.BlockTokens * sort.Search(n, func(i int) bool { return digests[i] != e.digests[i] })
}

// usable is how many of the first tokens can come back: all, or those up to a checkpoint.
func (e *entry) usable(common int) (n int) {
	if e.about.Cuttable || common == kvcache.BlockTokens*len(e.digests) {
		return common
	}
	for _, p := range e.about.Checkpoints {
		if p.N <= common {
			n = p.N
		}
	}
	return n
}

// block is the first block of a conversation in a space.
type block struct {
	in    space
	first kvcache.Digest
}

// index knows the files of a folder.
type index struct {
	byID    map[uint64]*entry
	byName  map[string]*entry
	byBlock map[block][]*entry
	bytes   int64
	last    uint64 // id
}

func newIndex() index {
	return index{byID: map[uint64]*entry{}, byName: map[string]*entry{}, byBlock: map[block][]*entry{}}
}

// add takes in a file.
func (x *index) add(e *entry) {
	x.last++
	e.id = x.last
	x.byID[e.id], x.byName[e.name] = e, e
	x.bytes += e.bytes
	if len(e.digests) > 0 {
		at := block{e.in, e.digests[0]}
		x.byBlock[at] = append(x.byBlock[at], e)
	}
}

// drop forgets a file. Twice does nothing.
func (x *index) drop(e *entry) {
	if x.byID[e.id] != e {
		return
	}
	delete(x.byID, e.id)
	delete(x.byName, e.name)
	x.bytes -= e.bytes
	if len(e.digests) == 0 {
		return
	}
	at := block{e.in, e.digests[0]}
	if x.byBlock[at] = slices.DeleteFunc(x.byBlock[at], func(other *entry) bool { return other == e }); len(x.byBlock[at]) == 0 {
		delete(x.byBlock, at)
	}
}

// like are the conversations that begin with the same block.
func (x *index) like(in space, digests []kvcache.Digest) []*entry {
	if len(digests) == 0 {
		return nil
	}
	return x.byBlock[block{in, digests[0]}]
}

// find is the conversation of which a request can use most; nil: there is none.
func (x *index) find(in space, digests []kvcache.Digest) (best *entry, common int) {
	usable := 0
	for _, e := range x.like(in, digests) {
		if i := usable / kvcache.BlockTokens; best != nil && (i >= len(digests) || i >= len(e.digests) || digests[i] != e.digests[i]) {
			continue // it gives no more than the best one, as most do not
		}
		n := e.common(digests)
		u := e.usable(n)
		if best == nil || u > usable || u == usable && n > common {
			best, common, usable = e, n, u
		}
	}
	return best, common
}

// victim is the file to remove first: what no model of this process can read, then what nobody
// continued or read, then what was asked for least recently. nil: there is none.
func (x *index) victim(open map[[32]byte]int) (first *entry) {
	rank := func(e *entry) int {
		switch {
		case e.foreign || open[e.in.identity] == 0:
			return 0
		case !e.about.Continued:
			return 1
		}
		return 2
	}
	for _, e := range x.byID {
		if first == nil || rank(e) < rank(first) || rank(e) == rank(first) && e.used.Before(first.used) {
			first = e
		}
	}
	return first
}
