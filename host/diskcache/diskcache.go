// SPDX-License-Identifier: MIT

// Package diskcache keeps conversations in encrypted files, so that a prompt which begins as one of
// them is read and not computed again.
//
// A Store is a folder, of all models of a process. Each model has a Tier of it, which is the cold
// store (kvcache.Cold) of its scheduler. Ticks only ask what there is and hand things over; one
// goroutine looks through the folder after the start and then writes, and one reads.
//
// # Why is a file a whole conversation, and not blocks that several share?
//
// A state of llama.cpp's is by layers over all cells, so a block of tokens is no piece of it, and
// reading one replaces a sequence. What is written several times over for that is bounded: a
// conversation that grows is written anew when it has grown by a quarter, at most five times its
// bytes in all.
//
// # Why is no file synced?
//
// A sync has others that write wait, and all that it would save is a cache. After a power failure a
// file may be torn; its parts are authenticated, so it is found and removed when it is read.
//
// # Why may reading take half as long as computing at most?
//
// The estimates are no better than that: the disk may be busy with something else, and the prompt
// is computed beside others. What is not there after twice the estimated time, and an eighth of
// what computing takes, is computed, so a request waits at most a tenth of a second longer than its
// prompt would have taken (scheduler/thaw.go).
//
// # Why is the page cache told to drop what was written and read?
//
// A file is read once, into the memory of a state. In the page cache it would push out the model's
// own pages, which are mapped from its file.
//
// # Why are kernels, threads and the number of cells not part of what a conversation is known by?
//
// Cells that other kernels have computed differ in their last bits only, as they do between two
// machines, or with the size of a chunk. What changes what cells mean, or how a state is laid out,
// is in engine.Engine.StateIdentity.
package diskcache

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
)

// Options are what Open needs.
type Options struct {
	Dir     string // is made if need be; without a KeyFile nobody else may write to it
	Bytes   int64  // that its files may take
	KeyFile string // has the key that encrypts them; empty: one in the folder does
	Memory  int64  // bytes of conversations that wait to be written, besides one of any size
	Log     *slog.Logger
}

// Model is what a tier needs of a model.
type Model interface {
	// NewState makes a state to read the contents of one into.
	NewState(size, positions int) (kvcache.State, error)
	// AdapterFiles turns the key of adapters into one that names their files.
	AdapterFiles(key string) (string, error)
}

// Stats are what a store has and has done since the start.
type Stats struct {
	Files, Bytes      int64 // that it has
	Read, ReadBytes   int64 // conversations
	Wrote, WroteBytes int64
	Dropped, Damaged  int64 // conversations that were not written for want of room or time, and files that were removed
}

// Store is a folder with conversations.
type Store struct {
	options Options
	root    *os.Root
	key     key
	known   chan struct{} // closed when the folder was looked through
	create  func(folder *os.Root, name string, mode fs.FileMode, fill func(*os.File) error) (fs.FileInfo, error)
	disk    func(folder string) (free, whole uint64, known bool)

	mu       sync.Mutex
	changed  chan struct{} // closed, and made anew, when what somebody waits for may have changed
	lock     *os.File      // nil: another process writes here, this one only reads
	index    index
	open     map[[32]byte]int // tiers, by identity
	offers   []*offer         // to write, in order
	writing  *offer
	held     int64 // bytes of memory that these take
	fetches  []*fetch
	reading  int64     // bytes of what is being read, and of fetches
	rate     float64   // bytes a second that reading takes
	until    time.Time // the end of what Close waits for; zero: nobody has asked for the end
	closing  bool
	paused   time.Time // nothing is written before
	warned   bool      // that writing failed, and it has not succeeded since
	stats    Stats
	locked   time.Time // when the lock was last tried; the writer's own
	removing sync.WaitGroup
	working  sync.WaitGroup
}

const (
	// firstRate is what a disk is taken to read until some was measured, in bytes a second.
	firstRate = 200e6
	// copyRate is what ticks copy back into the cache beside answers, in bytes a second.
	copyRate = 1e9
	// lockInterval is how often a process that only reads tries to become the one that writes.
	lockInterval = 10 * time.Second
	// partingTime is how long what was offered at a model's end may take to be written where
	// nobody has said how long.
	partingTime = 10 * time.Second
)

// Open opens a folder. What is in it is found a little later.
func Open(o Options) (*Store, error) {
	if err := atomicfile.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Store{options: o, root: root, known: make(chan struct{}), changed: make(chan struct{}), open: map[[32]byte]int{}, rate: firstRate, index: newIndex(), create: atomicfile.WriteUnsynced, disk: atomicfile.DiskSpace}
	if s.key, err = readKey(o); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	if s.lock = s.tryLock(); s.lock == nil {
		o.Log.Info("another process writes conversations to this folder: this one reads them, and will write when the other has ended", slog.String("folder", o.Dir))
	}
	s.working.Go(s.write)
	s.working.Go(s.read)
	return s, nil
}

// tryLock takes the lock of the process that writes; nil: another one has it. What a killed process
// has left may take long to remove, so no tick may wait for it.
func (s *Store) tryLock() *os.File {
	s.locked = time.Now()
	file, err := atomicfile.OpenAlone(filepath.Join(s.options.Dir, "lock"), 0o600)
	if err != nil {
		return nil
	}
	_ = atomicfile.RemoveLeftovers(s.options.Dir) // they only take room
	return file
}

// Known is closed when what was in the folder at the start is found.
func (s *Store) Known() <-chan struct{} { return s.known }

// EndBy says until when Close, and what is offered at the end, may write.
func (s *Store) EndBy(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = t
	s.tell()
}

// Close writes what was offered, within the time of EndBy, and ends. The tiers are closed.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closing = true
	if s.until.IsZero() {
		s.until = time.Now().Add(partingTime)
	}
	s.tell()
	s.mu.Unlock()
	s.working.Wait()
	s.removing.Wait()
	if s.lock != nil {
		return errors.Join(s.lock.Close(), s.root.Close())
	}
	return s.root.Close()
}

// tell wakes those who wait for a change. s.mu is held.
func (s *Store) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait waits for a change, at most until a time; zero: without a bound. s.mu is held.
func (s *Store) wait(until time.Time) {
	changed := s.changed
	s.mu.Unlock()
	defer s.mu.Lock()
	if until.IsZero() {
		<-changed
		return
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	}
}

// Stats may be called at any time.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Files, stats.Bytes = int64(len(s.index.byID)), s.index.bytes
	return stats
}

// remove removes a file beside what else is done: that of a long conversation takes some time. s.mu
// is held.
func (s *Store) remove(e *entry) {
	if s.lock == nil {
		return
	}
	s.removing.Go(func() { _ = s.root.Remove(e.name) }) // one that is left is found again at the next start
}

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

// commonTokens is how many tokens a request has in common with the conversation, as far as digests
// tell. Each digest is one of all blocks up to there.
func (e *entry) commonTokens(digests []kvcache.Digest) int {
	n := min(len(digests), len(e.digests))
	return kvcache.BlockTokens * sort.Search(n, func(i int) bool { return digests[i] != e.digests[i] })
}

// usableTokens is how many of the first tokens can come back: all, or those up to a checkpoint.
func (e *entry) usableTokens(common int) (n int) {
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

// sameBeginning lists the conversations that begin with the same block.
func (x *index) sameBeginning(in space, digests []kvcache.Digest) []*entry {
	if len(digests) == 0 {
		return nil
	}
	return x.byBlock[block{in, digests[0]}]
}

// find is the conversation of which a request can use most; nil: there is none.
func (x *index) find(in space, digests []kvcache.Digest) (best *entry, common int) {
	usable := 0
	for _, e := range x.sameBeginning(in, digests) {
		if i := usable / kvcache.BlockTokens; best != nil && (i >= len(digests) || i >= len(e.digests) || digests[i] != e.digests[i]) {
			continue // it gives no more than the best one, as most do not
		}
		n := e.commonTokens(digests)
		u := e.usableTokens(n)
		if best == nil || u > usable || u == usable && n > common {
			best, common, usable = e, n, u
		}
	}
	return best, common
}

// chooseVictim finds the file to remove first: what no model of this process can read, then what
// nobody continued or read, then what was asked for least recently. nil: there is none.
func (x *index) chooseVictim(open map[[32]byte]int) (first *entry) {
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

// Tier is a store as one model has it. It implements kvcache.Cold.
type Tier struct {
	store    *Store
	identity [32]byte
	model    Model
	ends     time.Time // the end of what offers at the model's end may wait for, where EndBy says nothing; zero: there were none
	ended    int       // how many there were
}

var _ kvcache.Cold = (*Tier)(nil)

// Tier opens the part of a store that has the conversations of a model, which is known by what its
// states depend on.
func (s *Store) Tier(identity string, m Model) *Tier {
	t := &Tier{store: s, identity: sha256.Sum256([]byte(identity)), model: m}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[t.identity]++
	return t
}

// Close says that the model is no longer in use.
func (t *Tier) Close() error {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if t.store.open[t.identity]--; t.store.open[t.identity] == 0 {
		delete(t.store.open, t.identity)
	}
	return nil
}

// space is what a conversation is found in: what has computed it, and for whom.
type space struct {
	identity [32]byte
	owner    string
	adapters string // their files; empty: none
	from     int    // kvcache.Scope.From, with adapters
}

// space finds the space of a scope; ok is false where an adapter is gone.
func (t *Tier) space(scope kvcache.Scope) (in space, ok bool) {
	in = space{identity: t.identity, owner: t.store.key.owner(scope.Salt)}
	if scope.Adapters == "" {
		return in, true
	}
	var err error
	in.adapters, err = t.model.AdapterFiles(scope.Adapters)
	in.from = scope.From
	return in, err == nil
}

// Find implements kvcache.Cold.
func (t *Tier) Find(digests []kvcache.Digest, scope kvcache.Scope) (found kvcache.Stored, ok bool) {
	in, ok := t.space(scope)
	if !ok {
		return found, false
	}
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	e, common := s.index.find(in, digests)
	if e == nil {
		return found, false
	}
	e.used = time.Now() // whether it is read, or the cache has it, too
	seconds := float64(s.reading+e.bytes)/s.rate + float64(e.bytes)/copyRate
	return kvcache.Stored{ID: e.id, Tokens: e.about.Tokens, Common: common, Usable: e.usableTokens(common), Computing: e.about.Computing,
		Reading: time.Duration(seconds * float64(time.Second))}, true
}

// Fetch implements kvcache.Cold.
func (t *Tier) Fetch(id uint64, scope kvcache.Scope, done func(*kvcache.Saved, error)) {
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.index.byID[id]
	if e == nil || s.closing {
		go done(nil, errGone)
		return
	}
	s.reading += e.bytes
	s.fetches = append(s.fetches, &fetch{e, t.model, scope, done})
	s.tell()
}

var errGone = errors.New("the conversation is no longer on the disk")

// Offer implements kvcache.Cold.
func (t *Tier) Offer(saved *kvcache.Saved, end bool) (more bool) {
	keepFew(saved)
	o := &offer{saved: saved, end: end, bytes: int64(saved.State.Bytes())}
	for _, p := range saved.Checkpoints {
		o.bytes += int64(p.State.Bytes())
	}
	in, ok := t.space(saved.Scope)
	o.in = in
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if end { // what was used last comes first
		t.ends = cmp.Or(t.ends, time.Now().Add(partingTime))
		t.ended++
		o.used = t.ends.Add(-partingTime - time.Duration(t.ended)*time.Millisecond)
	}
	until := cmp.Or(s.until, t.ends)
	full := func() bool { return s.held > 0 && s.held+o.bytes > s.options.Memory }
	for end && ok && full() && time.Now().Before(until) {
		s.wait(until)
	}
	if more = !end || time.Now().Before(until); !ok || !more || s.closing || full() || o.bytes > s.options.Bytes/2 {
		s.stats.Dropped++
		_ = saved.Close() // it is only a copy
		return more
	}
	s.held += o.bytes
	s.offers = append(s.offers, o)
	s.tell()
	return more
}

// keepFew keeps the checkpoints of a conversation that are likely to be asked for: the first, where
// prompts have parted from one another, the last of the prompt, and the last.
func keepFew(saved *kvcache.Saved) {
	last := len(saved.Checkpoints) - 1
	ofPrompt := -1
	for i, p := range saved.Checkpoints {
		if p.N <= saved.Prompt {
			ofPrompt = i
		}
	}
	kept := saved.Checkpoints[:0:0]
	for i, p := range saved.Checkpoints {
		if i == 0 || i == ofPrompt || i == last {
			kept = append(kept, p)
		} else {
			_ = p.State.Close() // it is only a copy
		}
	}
	saved.Checkpoints = kept
}

// Forget implements kvcache.Cold.
func (t *Tier) Forget(id uint64) {
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.index.byID[id]; e != nil {
		s.index.drop(e)
		s.remove(e)
	}
}

// Erase implements kvcache.Cold.
func (t *Tier) Erase(digests []kvcache.Digest, scope kvcache.Scope) {
	in, ok := t.space(scope)
	if !ok {
		return
	}
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	same := func(other []kvcache.Digest) bool {
		n := min(len(digests), len(other))
		return n > 0 && slices.Equal(digests[:n], other[:n])
	}
	for _, e := range slices.Clone(s.index.sameBeginning(in, digests)) {
		if same(e.digests) {
			s.index.drop(e)
			s.remove(e)
		}
	}
	for _, o := range append(slices.Clone(s.offers), s.writing) {
		if o != nil && o.in == in && same(o.digests()) {
			o.erased = true
		}
	}
}

// offer is a conversation that is to be written.
type offer struct {
	saved  *kvcache.Saved
	in     space
	end    bool
	used   time.Time // zero: now
	bytes  int64     // of memory
	erased bool      // nobody is to find it
}

// digests computes the digests of the conversation's blocks. Pieces have the same ones in any
// process.
func (o *offer) digests() []kvcache.Digest {
	words := o.saved.Tokens
	if len(o.saved.Pieces) > 0 {
		words = slices.Clone(words)
		piece.Words(words, o.saved.Pieces)
	}
	return kvcache.Digests(words)
}

// fetch is a conversation that is to be read.
type fetch struct {
	entry *entry
	model Model
	scope kvcache.Scope
	done  func(*kvcache.Saved, error)
}
