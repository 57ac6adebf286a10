// SPDX-License-Identifier: MIT

package diskcache

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
)

const (
	// ending ends the names of files with conversations.
	ending = ".cells"
	// window is how many bytes of a file are in the page cache.
	window = 8 << 20
	// pause is how long nothing is written after the disk has failed, as when it is full.
	pause = time.Minute
	// mostFiles bounds how many files a tick may have to compare with.
	mostFiles = 4096
	// One part in keptFree of the file system stays free; of a large one, keptBytes are enough.
	keptFree, keptBytes = 20, 1 << 30
)

// errEnd is why a file is not finished.
var errEnd = errors.New("the time is up")

// scan takes in the files of the folder that are not known, and forgets those that are gone.
func (s *Store) scan() {
	folder, err := s.root.Open(".")
	if err != nil {
		return
	}
	defer folder.Close()
	there := map[string]bool{}
	for {
		entries, err := folder.ReadDir(256)
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ending) && e.Type().IsRegular() {
				there[e.Name()] = true
				s.lookAtFile(e.Name())
			}
		}
		if err != nil || len(entries) == 0 || s.isClosing() {
			break
		}
	}
	if s.isClosing() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, e := range s.index.byName {
		if !there[name] {
			s.index.drop(e)
		}
	}
}

// isClosing reports whether the store is closing.
func (s *Store) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// lookAtFile takes in a file unless it is known. A damaged one is removed.
func (s *Store) lookAtFile(name string) {
	s.mu.Lock()
	known := s.index.byName[name] != nil
	s.mu.Unlock()
	if known {
		return
	}
	file, err := s.root.Open(name)
	if err != nil {
		return
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return
	}
	e := &entry{name: name, bytes: stat.Size(), used: stat.ModTime()}
	h, a, err := s.key.readAbout(file, stat.Size())
	e.foreign = err != nil
	if err == nil {
		e.describe(&h, a)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, errDamaged) {
		s.stats.Damaged++
		s.remove(e)
		return
	}
	s.index.add(e)
}

// describe notes what a file says.
func (e *entry) describe(h *head, a about) {
	e.digests = a.digests()
	e.in = a.space(h)
	a.Digests, a.Pieces = nil, nil // only the index of blocks is needed
	e.about = a
}

// write looks through the folder, and then writes what is offered, one conversation after the
// other, with the lowest priority that there is.
func (s *Store) write() {
	runtime.LockOSThread() // it ends with the goroutine
	yieldToOthers(true)
	s.scan()
	close(s.known)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.offers) == 0 && !s.closing {
			s.wait(time.Time{})
		}
		if len(s.offers) == 0 {
			return
		}
		o := s.offers[0]
		s.offers, s.writing = s.offers[1:], o
		s.mu.Unlock()
		err := s.store(o)
		_ = o.saved.Close() // it was only a copy
		s.mu.Lock()
		s.writing, s.held = nil, s.held-o.bytes
		s.note(err)
		s.tell()
	}
}

// note notes how writing a conversation has ended. s.mu is held.
func (s *Store) note(err error) {
	switch {
	case err == nil, errors.Is(err, errSkip):
	case errors.Is(err, errNoRoom), errors.Is(err, errEnd), errors.Is(err, errLong):
		s.stats.Dropped++
	default:
		s.stats.Dropped++
		s.paused = time.Now().Add(pause)
		if !s.warned {
			s.warned = true
			s.options.Log.Warn("conversations are not written to the disk for now", slog.String("folder", s.options.Dir), slog.Any("error", err),
				slog.String("remedy", "make room on the disk, or set a smaller --cache-disk"))
		}
	}
}

var (
	// errSkip is why a conversation need not be written.
	errSkip = errors.New("the disk has nearly all of it")
	// errNoRoom is why one is not written.
	errNoRoom = errors.New("there is no room for the conversation")
)

// mayWrite reports whether this process is the one that writes, and the disk is not to rest. It
// looks through the folder anew when another process has left it to this one.
func (s *Store) mayWrite() bool {
	s.mu.Lock()
	waits, has := time.Now().Before(s.paused), s.lock != nil
	s.mu.Unlock()
	if !has && time.Since(s.locked) >= lockInterval {
		lock := s.tryLock()
		s.mu.Lock()
		s.lock, has = lock, lock != nil
		s.mu.Unlock()
		if has {
			s.scan()
		}
	}
	return has && !waits
}

// store writes a conversation that is worth it, and removes what it begins with.
func (s *Store) store(o *offer) error {
	if !s.mayWrite() || s.timeIsUp() {
		return errEnd
	}
	digests := o.digests()
	n := len(o.saved.Tokens)
	s.mu.Lock()
	e, common := s.index.find(o.in, digests)
	s.mu.Unlock()
	if e != nil && (kvcache.Stored{Common: common}).Covers(n, o.end) {
		return errSkip
	}
	h := head{identity: o.in.identity}
	_, _ = rand.Read(h.id[:]) // it never fails
	a := aboutOf(o.saved, o.in, digests)
	said, err := s.key.describe(&h, &a)
	if err != nil {
		return err
	}
	if err := s.makeRoom(a.size(&h), o.used); err != nil {
		return err
	}
	name := hex.EncodeToString(h.id[:]) + ending
	stat, err := s.create(s.root, name, 0o600, func(file *os.File) error {
		return s.key.write(&paced{file: file}, &h, said, o.saved, func() error {
			if s.timeIsUp() {
				return errEnd
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	e = &entry{name: name, bytes: stat.Size(), used: cmp.Or(o.used, time.Now())}
	e.describe(&h, a)
	_ = s.root.Chtimes(name, e.used, e.used) // only the order of the next start depends on it
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Wrote++
	s.stats.WroteBytes += e.bytes
	if s.warned = false; o.erased {
		s.remove(e)
		return nil
	}
	for _, old := range s.index.replacedBy(e) {
		s.index.drop(old)
		s.remove(old)
	}
	s.index.add(e)
	return nil
}

// replacedBy are the conversations that a longer one begins with, as far as it gives nearly as much
// of each back.
func (x *index) replacedBy(e *entry) (old []*entry) {
	for _, other := range x.sameBeginning(e.in, e.digests) {
		n := other.commonTokens(e.digests)
		if n == kvcache.BlockTokens*len(other.digests) && other.about.Tokens <= e.about.Tokens && e.usableTokens(n)+leastLost > n {
			old = append(old, other)
		}
	}
	return old
}

// leastLost is how many tokens of a conversation are worth a file of their own.
const leastLost = 512

// timeIsUp reports whether nothing may be written any more.
func (s *Store) timeIsUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.until.IsZero() && time.Now().After(s.until)
}

// makeRoom removes files until there is room within the bounds for one more of this size. What was
// used after a time stays, unless that is zero. Some of the disk stays free, whoever fills the
// rest.
func (s *Store) makeRoom(bytes int64, used time.Time) error {
	if bytes > s.options.Bytes/2 {
		return errNoRoom // one conversation does not push out all others
	}
	for {
		free, whole, known := s.disk(s.options.Dir)
		kept := min(whole/keptFree, keptBytes)
		full := known && free < uint64(bytes)+kept
		s.mu.Lock()
		if !full && s.index.bytes+bytes <= s.options.Bytes && len(s.index.byID) < mostFiles {
			s.mu.Unlock()
			return nil
		}
		victim := s.index.chooseVictim(s.open)
		if victim == nil || !used.IsZero() && victim.used.After(used) {
			s.mu.Unlock()
			if full {
				return fmt.Errorf("the conversation has %d MB, and the disk has %d MB free, of which %d MB stay free: %w", bytes>>20, free>>20, kept>>20, syscall.ENOSPC)
			}
			return errNoRoom
		}
		s.index.drop(victim)
		s.mu.Unlock()
		if err := s.root.Remove(victim.name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return errNoRoom // and it stays unknown: another start finds it again
		}
	}
}

// read reads what is fetched, one conversation after the other.
func (s *Store) read() {
	runtime.LockOSThread() // it ends with the goroutine
	yieldToOthers(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.fetches) == 0 && !s.closing {
			s.wait(time.Time{})
		}
		if len(s.fetches) == 0 {
			return
		}
		f := s.fetches[0]
		s.fetches = s.fetches[1:]
		s.mu.Unlock()
		began := time.Now()
		saved, err := s.load(f)
		took := time.Since(began)
		s.mu.Lock()
		s.reading -= f.entry.bytes
		writes := s.lock != nil
		if err == nil {
			s.noteRead(f.entry, took)
		} else {
			s.dropUnreadable(f.entry, err)
		}
		s.mu.Unlock()
		f.done(saved, err)
		if err == nil && writes {
			now := time.Now()
			_ = s.root.Chtimes(f.entry.name, now, now) // only the order of the next start depends on it
		}
		s.mu.Lock()
	}
}

// dropUnreadable forgets a conversation that could not be read, whatever the reason, and removes
// it: else it would take room that nobody counts. s.mu is held.
func (s *Store) dropUnreadable(e *entry, err error) {
	s.index.drop(e)
	if errors.Is(err, errDamaged) {
		s.stats.Damaged++
	}
	if !s.closing {
		s.remove(e)
	}
}

// noteRead notes that a conversation was read. s.mu is held.
func (s *Store) noteRead(e *entry, took time.Duration) {
	s.stats.Read++
	s.stats.ReadBytes += e.bytes
	if rate := float64(e.bytes) / max(took, time.Microsecond).Seconds(); e.bytes >= window/8 { // a small one tells nothing of the disk
		s.rate += (rate - s.rate) / 4
	}
	e.used, e.about.Continued = time.Now(), true
}

// load reads a conversation, but not at the end of the store.
func (s *Store) load(f *fetch) (*kvcache.Saved, error) {
	if s.isClosing() {
		return nil, errEnd
	}
	file, err := s.root.Open(f.entry.name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return nil, err
	}
	h, a, err := s.key.readAbout(file, stat.Size())
	if err != nil {
		return nil, err
	}
	if a.space(&h) != f.entry.in {
		return nil, errForeign // it is not the file that was found
	}
	base := int64(headSize) + int64(h.about) + sealSize
	return s.key.readContents(&dropped{store: s, file: file, at: base, told: base}, &h, &a, f.scope, f.model)
}

// paced writes a file, and has the page cache keep no more than its last windows.
type paced struct {
	file     *os.File
	at, told int64
}

func (p *paced) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	if p.at += int64(n); p.at-p.told >= window {
		startFlush(p.file, p.told, p.at-p.told)
		if p.told >= window {
			dropFromPageCache(p.file, p.told-window, window)
		}
		p.told = p.at
	}
	return n, err
}

// dropped reads a file, and has the page cache forget what was read. It fails at the end of the
// store.
type dropped struct {
	store    *Store
	file     *os.File
	at, told int64
}

func (d *dropped) Read(b []byte) (int, error) {
	if d.store.isClosing() {
		return 0, errEnd
	}
	n, err := d.file.ReadAt(b, d.at)
	if d.at += int64(n); d.at-d.told >= window || err != nil {
		dropFromPageCache(d.file, d.told, d.at-d.told)
		d.told = d.at
	}
	return n, err
}
