// SPDX-License-Identifier: MIT

package diskcache

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/tools/must"
)

// states counts those that are open.
type states struct{ open atomic.Int64 }

// memory is a state of bytes.
type memory struct {
	states *states
	bytes  []byte
	closed *atomic.Bool
}

func (s *states) make(contents []byte) memory {
	s.open.Add(1)
	return memory{s, contents, new(atomic.Bool)}
}

func (m memory) Bytes() int          { return len(m.bytes) }
func (m memory) Contents() []byte    { return m.bytes }
func (m memory) Keep() kvcache.State { return m.states.make(m.bytes) }

func (m memory) Close() error {
	if m.closed.Swap(true) {
		return errors.New("closed twice")
	}
	m.states.open.Add(-1)
	return nil
}

// NewState implements Model.
func (s *states) NewState(size, positions int) (kvcache.State, error) {
	if size > 1<<28 || positions < 1 {
		return nil, errors.New("no such state")
	}
	return s.make(make([]byte, size)), nil
}

// noStates is a model without memory for a state.
type noStates struct{ *states }

func (noStates) NewState(int, int) (kvcache.State, error) { return nil, errors.New("no memory") }

// AdapterFiles implements Model.
func (s *states) AdapterFiles(key string) (string, error) {
	if strings.Contains(key, "gone") {
		return "", errors.New("it is gone")
	}
	return "files of " + key, nil
}

// tokens are n that differ by seed.
func tokens(n, seed int) []kvcache.Token {
	out := make([]kvcache.Token, n)
	for i := range out {
		out[i] = kvcache.Token((i*7 + seed*31) % 1000)
	}
	return out
}

// contentsOf is what the state of a conversation has in these tests, so that it tells whether it is
// the right one.
func contentsOf(list []kvcache.Token, n int) []byte {
	r := rand.New(rand.NewPCG(uint64(list[0]), uint64(len(list))))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// conversation is one with a state of so many bytes.
func (s *states) conversation(list []kvcache.Token, size int) *kvcache.Saved {
	return &kvcache.Saved{Tokens: list, State: s.make(contentsOf(list, size)), Prompt: len(list), Cuttable: true, Computing: time.Minute}
}

// opened is a store that the test closes, without states left.
type opened struct {
	testing.TB
	*Store
	states *states
	closed sync.Once
}

func open(t testing.TB, dir string, change func(*Options)) *opened {
	t.Helper()
	o := Options{Dir: dir, Bytes: 1 << 30, Memory: 1 << 20, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	s := must.Get(Open(o))(t)
	s.disk = func(string) (uint64, uint64, bool) { return 0, 0, false } // the machine's may be nearly full
	w := &opened{TB: t, Store: s, states: &states{}}
	t.Cleanup(w.end)
	return w
}

// end closes the store once.
func (w *opened) end() {
	w.closed.Do(func() {
		if err := w.Close(); err != nil {
			w.Error(err)
		}
		if n := w.states.open.Load(); n != 0 {
			w.Errorf("%d states are open", n)
		}
	})
}

// settle waits until everything that was offered is written, and what is to be removed is gone.
func (w *opened) settle() {
	<-w.known
	w.mu.Lock()
	for len(w.offers) > 0 || w.writing != nil {
		w.wait(time.Time{})
	}
	w.mu.Unlock()
	w.removing.Wait()
}

// fetch reads what is found for a request; nil: nothing.
func (w *opened) fetch(tier *Tier, list []kvcache.Token, scope kvcache.Scope) *kvcache.Saved {
	w.Helper()
	found, ok := tier.Find(kvcache.Digests(list), scope)
	if !ok {
		return nil
	}
	result := make(chan *kvcache.Saved, 1)
	tier.Fetch(found.ID, scope, func(s *kvcache.Saved, err error) {
		if (s == nil) == (err == nil) {
			w.Errorf("%v with %v", s, err)
		}
		result <- s
	})
	return <-result
}

// has checks that a conversation comes back as it was offered, or not at all.
func (w *opened) has(tier *Tier, list []kvcache.Token, scope kvcache.Scope, size int) bool {
	w.Helper()
	s := w.fetch(tier, list, scope)
	if s == nil {
		return false
	}
	defer func() { _ = s.Close() }()
	if !slices.Equal(s.Tokens, list) || !bytes.Equal(s.State.Contents(), contentsOf(list, size)) || s.Scope != scope {
		w.Errorf("another conversation: %d tokens, %d bytes, scope %+v", len(s.Tokens), len(s.State.Contents()), s.Scope)
	}
	return true
}

// files are the names of the conversations in a folder.
func files(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ending) {
			names = append(names, e.Name())
		}
	}
	return names
}
