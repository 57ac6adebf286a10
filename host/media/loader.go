// SPDX-License-Identifier: MIT

package media

import (
	"context"
	"crypto/sha256"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/media/fetch"
	"github.com/penstock/penstock/host/media/picture"
	"github.com/penstock/penstock/host/media/sound"
	"github.com/penstock/penstock/host/refusal"
)

// Bounds bound what is read.
type Bounds struct {
	Pixels int           // of a picture
	Sound  time.Duration // of a sound
	Memory int64         // bytes that decoding takes for all requests together, the results included
	Fetch  *fetch.Options
}

// Item is a part that was read.
type Item struct {
	Field   string
	Kind    Kind
	Hash    [sha256.Size]byte // of the file's bytes
	Bytes   int               // of the file
	Picture picture.RGB       // of an Image
	Sound   sound.Samples     // of an Audio
	Detail  string
}

// Loader reads parts. Its methods may be called from any goroutine.
type Loader struct {
	options Bounds
	fetcher *fetch.Fetcher // nil: only what is in the request
	memory  *gate          // bytes
	workers *gate          // files that are being decoded
	fetches *gate          // requests that have fetched files
	garbage atomic.Int64   // bytes that were given back and may not be collected yet
}

// withURLs is how many requests may have files fetched at a time, so that they are bounded before
// anything is known of them.
const withURLs = 8

// NewLoader makes a loader. It decodes on a quarter of the cores, so that most are left for
// answers.
func NewLoader(o Bounds) *Loader {
	workers := max(1, int64(runtime.GOMAXPROCS(0)/4))
	l := &Loader{options: o, memory: newGate(o.Memory, 0), workers: newGate(workers, workers), fetches: newGate(withURLs, 1)}
	if o.Fetch != nil {
		l.fetcher = fetch.New(*o.Fetch)
	}
	return l
}

// opened is a part whose header was read.
type opened struct {
	item    Item
	picture *picture.File
	sound   *sound.File
	memory  int64
}

// Load reads the parts of a caller's request for a model: all of them or none. Callers take turns
// in fetching and decoding, and have half of the memory that the others leave. release returns the
// memory of the items; it is called once, when nobody needs them any more.
//
// # Errors
//
//   - a *refusal.Error for what the client can fix, with the part's field
//   - the cause of ctx, when that is done
func (l *Loader) Load(ctx context.Context, caller string, parts []Part, can Abilities, model string, files Files) (_ []Item, release func(), err error) {
	if err := can.Check(parts, model); err != nil {
		return nil, nil, err
	}
	var budget int64
	for _, p := range parts {
		if l.fetcher != nil && isFetched(p) {
			place, err := l.fetches.enter(ctx, caller, 1)
			if err != nil {
				return nil, nil, err
			}
			defer place.leave()
			budget = l.options.Fetch.Limit
			break
		}
	}
	all := make([]opened, len(parts))
	var results, most, copies int64 // bytes
	for i, p := range parts {
		if all[i], err = l.open(ctx, p, can, model, files, &budget); err != nil {
			return nil, nil, err
		}
		results += all[i].result()
		copies = max(copies, all[i].copies())
		most = max(most, all[i].memory-all[i].result(), copies)
		if results+most > l.options.Memory {
			return nil, nil, refusal.Invalid(p.Field, "%s takes too much memory to decode, with those before it: %d MiB; all requests together have %d MiB (media.decode_memory): scale it down",
				p.Field, (results+most)>>20, l.options.Memory>>20)
		}
	}
	memory, err := l.memory.enter(ctx, caller, results+most)
	if err != nil {
		return nil, nil, err
	}
	items := make([]Item, len(all))
	for i := range all {
		if items[i], err = l.decode(ctx, caller, &all[i]); err != nil {
			l.collect(results + most)
			memory.leave()
			return nil, nil, err
		}
		l.collect(all[i].memory - all[i].result())
	}
	memory.give(most - copies)
	return items, func() {
		l.collect(results)
		memory.leave()
	}, nil
}

// collect frees memory that was used, before others get its place.
func (l *Loader) collect(n int64) {
	if l.garbage.Add(n) >= picture.Garbage {
		l.garbage.Store(0)
		debug.FreeOSMemory() // as C++ needs it as well
	}
}

func isFetched(p Part) bool {
	return !p.Base64 && !isDataURL(p.Source) && len(p.Source) > 0
}

// open reads a part's file and its header.
func (l *Loader) open(ctx context.Context, p Part, can Abilities, model string, files Files, budget *int64) (o opened, err error) {
	data, err := l.read(ctx, p, files, budget)
	if err != nil {
		return o, told(ctx, p, err)
	}
	kind, err := kindOf(data)
	if err != nil {
		return o, told(ctx, p, err)
	}
	if p.Kind != Any && p.Kind != kind {
		return o, refusal.Invalid(p.Field, "%s stands for a %s, and the file is a %s by its bytes", p.Field, p.Kind, kind)
	}
	if !can.takes(kind) {
		return o, can.refuse(p, kind, model)
	}
	o.item = Item{Field: p.Field, Kind: kind, Hash: sha256.Sum256(data), Bytes: len(data), Detail: p.Detail}
	if kind == Image {
		if o.picture, err = picture.Open(data, l.options.Pixels); err == nil {
			o.memory = o.picture.Memory
		}
	} else if o.sound, err = sound.Open(data, can.AudioRate, l.options.Sound); err == nil {
		o.memory = o.sound.Memory
	}
	return o, told(ctx, p, err)
}

// result is how many bytes the part takes once it is decoded.
func (o *opened) result() int64 {
	if o.picture != nil {
		return 3 * int64(o.picture.Width) * int64(o.picture.Height)
	}
	return o.memory
}

// copies is how many bytes encoding the part takes besides: libmtmd copies a picture twice before
// it scales it.
func (o *opened) copies() int64 {
	if o.picture != nil {
		return 2 * o.result()
	}
	return 0
}

func (l *Loader) decode(ctx context.Context, caller string, o *opened) (Item, error) {
	worker, err := l.workers.enter(ctx, caller, 1)
	if err != nil {
		return Item{}, err
	}
	defer worker.leave()
	rest := func() { worker.rest(ctx) }
	if o.picture != nil {
		o.item.Picture, err = o.picture.Decode(ctx, rest)
	} else {
		o.item.Sound, err = o.sound.Decode(ctx, rest)
	}
	return o.item, told(ctx, Part{Field: o.item.Field}, err)
}

// told is an error with a part's field before it.
func told(ctx context.Context, p Part, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return refusal.Invalid(p.Field, "%s %v", p.Field, err)
}
