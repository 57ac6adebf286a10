// SPDX-License-Identifier: MIT

package media

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/media/fetch"
	"github.com/penstock/penstock/host/media/picture"
	"github.com/penstock/penstock/host/media/sound"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler/portion"
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
		results += all[i].resultBytes()
		copies = max(copies, all[i].copyBytes())
		most = max(most, all[i].memory-all[i].resultBytes(), copies)
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
		l.collect(all[i].memory - all[i].resultBytes())
	}
	memory.giveBack(most - copies)
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
		return o, withField(ctx, p, err)
	}
	kind, err := kindOf(data)
	if err != nil {
		return o, withField(ctx, p, err)
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
	return o, withField(ctx, p, err)
}

// resultBytes is how many bytes the part takes once it is decoded.
func (o *opened) resultBytes() int64 {
	if o.picture != nil {
		return 3 * int64(o.picture.Width) * int64(o.picture.Height)
	}
	return o.memory
}

// copyBytes is how many bytes encoding the part takes besides: libmtmd copies a picture twice
// before it scales it.
func (o *opened) copyBytes() int64 {
	if o.picture != nil {
		return 2 * o.resultBytes()
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
	return o.item, withField(ctx, Part{Field: o.item.Field}, err)
}

// withField puts a part's field before an error.
func withField(ctx context.Context, p Part, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return refusal.Invalid(p.Field, "%s %v", p.Field, err)
}

// Files gives the file that a client has sent by itself, by its id; nil: there is none.
type Files func(id string) []byte

// read gets the bytes of a part. Its errors follow the part's field.
func (l *Loader) read(ctx context.Context, p Part, files Files, budget *int64) ([]byte, error) {
	if p.Base64 && !isDataURL(p.Source) {
		return decodeBase64(p.Source)
	}
	if isDataURL(p.Source) {
		return decodeDataURL(p.Source)
	}
	if id, ok := strings.CutPrefix(p.Source, FrameScheme); ok {
		if files == nil {
			return nil, errors.New("names a binary frame, which only requests over the WebSocket have")
		}
		data := files(id)
		if data == nil {
			return nil, fmt.Errorf("names the binary frame %q, which is not here: send it first, on the same connection", excerpt.Of(id, 40))
		}
		return data, nil
	}
	if p.Source == "" {
		return nil, errors.New("is empty")
	}
	if l.fetcher == nil {
		return nil, errors.New("is no data: URL, and this server fetches no others (media.urls): send the file itself, as data:image/png;base64,…")
	}
	data, err := l.fetcher.Get(ctx, p.Source, *budget)
	*budget -= int64(len(data))
	return data, err
}

func isDataURL(s string) bool { return len(s) >= 5 && strings.EqualFold(s[:5], "data:") }

// longestType is how many bytes may stand before the data in a data: URL.
const longestType = 256

// decodeDataURL reads data:TYPE;base64,DATA. The type says nothing that counts.
func decodeDataURL(s string) ([]byte, error) {
	comma := strings.IndexByte(s[:min(len(s), longestType)], ',')
	if comma < 0 {
		return nil, errors.New("is a data: URL without a comma before its data: data:image/png;base64,… is one")
	}
	if !strings.HasSuffix(strings.ToLower(s[:comma]), ";base64") {
		return nil, errors.New("is a data: URL that is not in base64: data:image/png;base64,… is one")
	}
	data := s[comma+1:]
	if strings.ContainsRune(data, '%') { // some escape what has a meaning in URLs: + / =
		unescaped, err := url.PathUnescape(data)
		if err != nil {
			return nil, fmt.Errorf("is a data: URL with a wrong escape: %w", err)
		}
		data = unescaped
	}
	return decodeBase64(data)
}

// decodeBase64 reads base64 of either alphabet, with or without its padding, and with line breaks,
// but with nothing else that does not belong there.
func decodeBase64(s string) ([]byte, error) {
	encoding := base64.StdEncoding
	if strings.ContainsAny(s, "-_") {
		encoding = base64.URLEncoding
	}
	if !strings.HasSuffix(strings.TrimRight(s, "\r\n"), "=") {
		encoding = encoding.WithPadding(base64.NoPadding)
	}
	encoding = encoding.Strict()
	data, err := encoding.DecodeString(s)
	var corrupt base64.CorruptInputError
	switch {
	case errors.As(err, &corrupt):
		return nil, fmt.Errorf("is no base64 at byte %d of %d", int64(corrupt), len(s))
	case err != nil:
		return nil, err
	case len(data) == 0:
		return nil, errors.New("is empty")
	}
	return data, nil
}

// kindOf is what a file is by its bytes. Its errors follow the part's field.
func kindOf(data []byte) (Kind, error) {
	switch {
	case picture.FormatOf(data) != "":
		return Image, nil
	case sound.FormatOf(data) != "":
		return Audio, nil
	}
	for _, o := range others {
		if o.is(data) {
			return Any, fmt.Errorf("is %s, which is not read here; %s", o.name, o.remedy)
		}
	}
	return Any, fmt.Errorf("is no file of a kind that is read here; %s", anyKind)
}

const (
	anyKind    = "send a picture as JPEG, PNG, GIF, WebP or BMP, or a sound as WAV or MP3"
	asPicture  = "save it as JPEG, PNG or WebP"
	asSound    = "save it as WAV or MP3"
	asPictures = "send its pages as pictures, or its text"
)

// others are kinds of files that clients try, each with what to do.
var others = []struct {
	name, remedy string
	is           func([]byte) bool
}{
	{"a PDF", asPictures, func(d []byte) bool { return bytes.Contains(d[:min(len(d), 1024)], []byte("%PDF-")) }},
	{"an SVG or another text with markup", "draw it as PNG first", isMarkup},
	{"a TIFF", asPicture, startsWith("II*\x00", "MM\x00*")},
	{"a HEIC or AVIF picture", asPicture, isBrand("heic", "heix", "hevc", "mif1", "msf1", "avif", "avis")},
	{"a JPEG XL", asPicture, startsWith("\xff\x0a", "\x00\x00\x00\x0cJXL ")},
	{"an icon", asPicture, startsWith("\x00\x00\x01\x00", "\x00\x00\x02\x00")},
	{"sound of an M4A", asSound, isBrand("M4A ", "M4B ")},
	{"a video", "send pictures of it, or its sound", func(d []byte) bool {
		return isBrand("")(d) || startsWith("\x1aE\xdf\xa3")(d) || len(d) >= 12 && string(d[:4]) == "RIFF" && string(d[8:12]) == "AVI "
	}},
	{"sound as Ogg, Opus, FLAC or AAC", asSound, startsWith("OggS", "fLaC", "\xff\xf1", "\xff\xf9")},
	{"an archive or an office document", asPictures, startsWith("PK\x03\x04", "\x1f\x8b", "7z\xbc\xaf", "\xd0\xcf\x11\xe0")},
}

func startsWith(magics ...string) func([]byte) bool {
	return func(data []byte) bool {
		for _, m := range magics {
			if bytes.HasPrefix(data, []byte(m)) {
				return true
			}
		}
		return false
	}
}

// isBrand knows files of MP4's family by what they are for.
func isBrand(brands ...string) func([]byte) bool {
	return func(data []byte) bool {
		if len(data) < 12 || string(data[4:8]) != "ftyp" {
			return false
		}
		return startsWith(brands...)(data[8:])
	}
}

// isMarkup knows texts that begin with a tag, after white space and the mark of their bytes' order.
func isMarkup(data []byte) bool {
	data = bytes.TrimLeft(bytes.TrimPrefix(data[:min(len(data), 1024)], []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(data) > 1 && data[0] == '<' && (data[1] == '?' || data[1] == '!' || data[1] >= 'A' && data[1] <= 'z')
}

// gate lets callers to something that is bounded, such as memory. They take turns: among those that
// wait, the caller who was let in the longest ago is next, and nobody overtakes one that waits for
// others to leave. A caller has half of what the others leave, or what one request needs.
type gate struct {
	mu      sync.Mutex
	room    portion.Pool
	waiting []*visitor     // in the order in which they came
	served  map[string]int // of callers that wait or are inside: the number of their last that was let in
	last    int
	turn    time.Duration // that a visitor has before it rests
}

// usualTurn is how long a file is decoded while others wait to be. A neighbour's small one waits
// for as long.
const usualTurn = 100 * time.Millisecond

// visitor is one who waits, or was let in.
type visitor struct {
	gate   *gate
	caller string
	n      int64         // what it waits for, or has
	by     string        // for whom it counts: the caller, or nobody in particular
	inside chan struct{} // closed when it is let in
	since  time.Time     // when that was
}

// newGate makes a gate for limit in all, of which every caller may have least.
func newGate(limit, least int64) *gate {
	return &gate{room: portion.Pool{Limit: limit, Least: least}, served: map[string]int{}, turn: usualTurn}
}

// enter waits until a caller has n, which it gives back. The error is the cause of ctx.
func (g *gate) enter(ctx context.Context, caller string, n int64) (*visitor, error) {
	v := &visitor{gate: g, caller: caller, n: n, inside: make(chan struct{})}
	g.mu.Lock()
	if _, known := g.served[caller]; !known {
		g.served[caller] = g.last - 1 // before the one who was let in last, and after all who wait for longer
	}
	g.waiting = append(g.waiting, v)
	g.admit()
	g.mu.Unlock()
	if err := v.wait(ctx); err != nil {
		return nil, err
	}
	return v, nil
}

// wait waits until a visitor is let in. If ctx is done before, it has nothing.
func (v *visitor) wait(ctx context.Context) error {
	select {
	case <-v.inside:
		return nil
	case <-ctx.Done():
	}
	g := v.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, v); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	} else {
		g.room.Give(v.by, v.n)
	}
	v.n = 0
	g.forget(v.caller)
	g.admit()
	return context.Cause(ctx)
}

// rest has a visitor whose turn is over leave, if another caller waits, and come in again after
// that one. If ctx is done before, it has nothing any more.
func (v *visitor) rest(ctx context.Context) {
	g := v.gate
	g.mu.Lock()
	if v.n == 0 || time.Since(v.since) < g.turn || !slices.ContainsFunc(g.waiting, func(w *visitor) bool { return w.caller != v.caller }) {
		g.mu.Unlock()
		return
	}
	g.room.Give(v.by, v.n)
	v.inside = make(chan struct{})
	g.waiting = slices.Insert(g.waiting, 0, v) // before what else its caller has
	g.admit()
	g.mu.Unlock()
	_ = v.wait(ctx) // whoever rests looks at ctx
}

// giveBack gives back a part of what a visitor has.
func (v *visitor) giveBack(n int64) {
	v.gate.mu.Lock()
	defer v.gate.mu.Unlock()
	v.n -= n
	v.gate.room.Give(v.by, n)
	v.gate.forget(v.caller)
	v.gate.admit()
}

// leave gives back all that a visitor still has.
func (v *visitor) leave() { v.giveBack(v.n) }

// forget forgets a caller that neither waits nor has anything.
func (g *gate) forget(caller string) {
	if g.room.Has(caller) == 0 && !slices.ContainsFunc(g.waiting, func(v *visitor) bool { return v.caller == caller }) {
		delete(g.served, caller)
	}
}

// admit lets in who can be let in. The caller holds the lock.
func (g *gate) admit() {
	for v := g.next(); v != nil; v = g.next() {
		i := slices.Index(g.waiting, v)
		g.waiting = slices.Delete(g.waiting, i, i+1)
		g.last++
		g.served[v.caller] = g.last
		v.since = time.Now()
		close(v.inside)
	}
}

// next takes the room for the next one, if there is any: of each caller its first counts.
func (g *gate) next() *visitor {
	var first []*visitor
	for _, v := range g.waiting {
		if !slices.ContainsFunc(first, func(f *visitor) bool { return f.caller == v.caller }) {
			first = append(first, v)
		}
	}
	slices.SortStableFunc(first, func(a, b *visitor) int { return cmp.Compare(g.served[a.caller], g.served[b.caller]) })
	for _, v := range first {
		v.by = v.caller
		if g.room.Take(v.by, v.n) == portion.Taken {
			return v
		}
		if g.room.Has(v.caller) > 0 {
			continue // it waits for what it has itself
		}
		if v.by = ""; g.room.Used() == 0 && g.room.Take(v.by, v.n) == portion.Taken {
			return v // more than its share, and nobody else has any
		}
		return nil
	}
	return nil
}
