// SPDX-License-Identifier: MIT

package recording

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string, limits Limits) *Store {
	t.Helper()
	s := Open(path, limits, slog.New(slog.DiscardHandler))
	t.Cleanup(s.Close)
	return s
}

var wide = Limits{Size: 1 << 20, Keep: 10, KeepFor: time.Hour}

// record records an answer of one token for a caller, who comes back to a part of it and is told
// that again.
func record(t *testing.T, s *Store, caller string) string {
	t.Helper()
	r := New(s, "words", hosttest.Words{}).Begin(caller)
	r.Watch(serving.RecordedChoice{Seed: 7, Prompt: 1}, serving.Policy{})
	events := []scheduler.Event{
		{Seq: 1, Kind: scheduler.KindToken, Token: 5, Text: "5 "},
		{Seq: 2, Kind: scheduler.KindToken, Token: 6, Text: "6 "},
		{Seq: 3, Kind: scheduler.KindRewound, Rewound: &scheduler.Rewound{Tokens: 1, Text: "6 "}},
		{Seq: 4, Kind: scheduler.KindEnd, End: &scheduler.End{Reason: answer.ReasonLength}},
	}
	for _, e := range append(events[:3:3], events...) {
		r.Event(0, e)
	}
	r.Release()
	return r.ID()
}

func TestStore_Get_WhatWasRecorded(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "new", "folder"), wide)
	id := record(t, s, "alice")
	file := must.Get(s.Get(t.Context(), serving.RecordingReader{Caller: "alice"}, id))(t)
	defer file.Close() //nolint:errcheck // it was only read
	f := must.Get(session.Read(file))(t)
	c := f.Recording.Choices[0]
	if f.Recording.ID != id || c.Text != "5 " || len(c.Tokens) != 1 || c.Tokens[0].By != "samplers" || c.Reason != "length" || len(f.Vocabulary.Pieces) != 100 {
		t.Errorf("got %+v", f.Recording)
	}
}

func TestStore_Files_AreTheUsersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	s := open(t, dir, wide)
	id := record(t, s, "alice")
	list, err := s.List(t.Context(), serving.RecordingReader{Admin: true})
	if err != nil || len(list) != 1 || list[0].ID != id || list[0].Tokens != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, id+suffix): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if list, err := s.List(t.Context(), serving.RecordingReader{Caller: "bob"}); err != nil || len(list) != 0 {
		t.Errorf("bob has %+v, %v", list, err)
	}
}

func TestStore_Prune_RemovesOldAndMany(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Limits{Size: 1 << 20, Keep: 2, KeepFor: time.Hour})
	all := serving.RecordingReader{Admin: true}
	ids := []string{record(t, s, "a")}
	for i := range 3 {
		if _, err := s.List(t.Context(), all); err != nil { // it is on the disk
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-30) * time.Minute)
		must.Do(t, os.Chtimes(filepath.Join(dir, ids[i]+suffix), at, at))
		ids = append(ids, record(t, s, "a"))
	}
	if list, err := s.List(t.Context(), all); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v; want the last 2 of %v", list, err, ids)
	}
	if _, err := s.Get(t.Context(), all, ids[0]); !errors.As(err, new(*refusal.Error)) {
		t.Errorf("got %v", err)
	}
	old := time.Now().Add(-2 * time.Hour)
	must.Do(t, os.Chtimes(filepath.Join(dir, ids[3]+suffix), old, old))
	if list, err := s.List(t.Context(), all); err != nil || len(list) != 1 || list[0].ID != ids[2] {
		t.Errorf("%+v, %v; want %s alone", list, err, ids[2])
	}
}

// What a killed server was writing goes with the next start; files that are no recordings stay,
// and are not listed.
func TestOpen_RemovesLeftovers(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "rec_"+rand.Text()+suffix)
	must.Do(t, os.WriteFile(other, []byte("half"), 0o600))
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close() //nolint:errcheck // the test is over
	left := filepath.Join(dir, ".writing.."+rand.Text())
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil || !atomicfile.IsTemp(filepath.Base(left)) {
		t.Fatal(err)
	}
	s := open(t, dir, wide)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there", left)
	}
	if list, err := s.List(t.Context(), serving.RecordingReader{Admin: true}); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

// Two processes may share a folder: what one writes the other lists.
func TestStore_List_OfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	one, other := open(t, dir, wide), open(t, dir, wide)
	id := record(t, one, "a")
	must.Get(one.Get(t.Context(), serving.RecordingReader{Caller: "a"}, id))(t)
	if list, err := other.List(t.Context(), serving.RecordingReader{Caller: "a"}); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := other.Remove(t.Context(), serving.RecordingReader{Caller: "a"}, id); err != nil {
		t.Error(err)
	}
	if err := one.Remove(t.Context(), serving.RecordingReader{Caller: "a"}, id); err == nil {
		t.Error("it was removed twice")
	}
}

// A request that was refused leaves nothing, and one that is being answered is waited for only as
// long as its reader likes.
func TestStore_Get_OfARequestAtWork(t *testing.T) {
	s := open(t, t.TempDir(), wide)
	r := New(s, "words", hosttest.Words{}).Begin("a")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Get(gone, serving.RecordingReader{Caller: "a"}, r.ID()); !errors.Is(err, refusal.ErrGone) {
		t.Errorf("got %v", err)
	}
	if list, err := s.List(t.Context(), serving.RecordingReader{Caller: "a"}); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	r.Release()
	if _, err := s.Get(t.Context(), serving.RecordingReader{Caller: "a"}, r.ID()); !errors.As(err, new(*refusal.Error)) {
		t.Errorf("got %v", err)
	}
}

// Recordings that run at the same time have room together for four of the largest.
func TestStore_Memory_IsBounded(t *testing.T) {
	s := open(t, t.TempDir(), Limits{Size: 1000, Keep: 10, KeepFor: time.Hour})
	var all []*request
	for range 8 {
		r := New(s, "words", hosttest.Words{}).Begin("a").(*request)
		r.Watch(serving.RecordedChoice{}, serving.Policy{})
		for seq := range uint64(20) {
			r.Event(0, scheduler.Event{Seq: seq, Kind: scheduler.KindToken, Token: 5, Text: "5 "})
		}
		all = append(all, r)
	}
	if used := s.running.Load(); used > 4000 {
		t.Errorf("%d bytes", used)
	}
	if all[0].cut == all[7].cut || all[0].cut == "" || all[7].cut == "" {
		t.Errorf("%q, %q", all[0].cut, all[7].cut)
	}
	for _, r := range all {
		r.Release()
		<-r.pending.done
	}
	if used := s.running.Load(); used != 0 {
		t.Errorf("%d bytes are still counted", used)
	}
}

// What plugins asked when they were loaded counts too.
func TestStore_Memory_OfSessions(t *testing.T) {
	s := open(t, t.TempDir(), Limits{Size: 4000, Keep: 10, KeepFor: time.Hour})
	r := New(s, "words", hosttest.Words{}).Begin("a").(*request)
	for range 8 {
		r.keep(&session.Session{Plugin: session.Plugin{Name: "p"}, Warm: make([]session.Deed, 8)}, plugin.Model{})
	}
	if used := s.running.Load(); used > 4000 || used == 0 {
		t.Errorf("%d bytes", used)
	}
	if last := r.sessions[7]; last.Warm != nil || last.Cut == "" || len(r.sessions[0].Warm) != 8 {
		t.Errorf("got %+v", last)
	}
	r.Release()
}

// The work of a client that went may go on for a moment: nothing of it is kept, and no memory
// counts for it.
func TestRequest_Release_WhileATemplateIsRendered(t *testing.T) {
	s := open(t, t.TempDir(), wide)
	r := New(s, "words", hosttest.Words{}).Begin("a").(*request)
	begun := &session.Session{Plugin: session.Plugin{Name: "p"}}
	r.keep(begun, plugin.Model{})
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 100 {
				r.add(begun, session.Call{Call: session.CallRender})
				r.keep(&session.Session{Plugin: session.Plugin{Name: "q"}}, plugin.Model{})
			}
		})
	}
	r.Release()
	work.Wait()
	<-r.pending.done
	if used := s.running.Load(); used != 0 {
		t.Errorf("%d bytes are counted", used)
	}
}

// Several answers have the same plugins; a list names each once.
func TestStore_List_NamesPluginsOnce(t *testing.T) {
	s := open(t, t.TempDir(), wide)
	r := New(s, "words", hosttest.Words{}).Begin("a").(*request)
	for range 2 {
		for _, name := range []string{"one", "other"} {
			r.keep(&session.Session{Plugin: session.Plugin{Name: name}, Calls: []session.Call{{Call: session.CallOpen}}}, plugin.Model{})
		}
	}
	r.pending.ended.Store(true)
	r.Release()
	list, err := s.List(t.Context(), serving.RecordingReader{Caller: "a"})
	if err != nil || len(list) != 1 || !slices.Equal(list[0].Plugins, []string{"one", "other"}) {
		t.Errorf("%+v, %v", list, err)
	}
}

// A folder that cannot be written to loses recordings, and nothing else.
func TestStore_Write_Fails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(path, nil, 0o600))
	s := open(t, path, wide)
	id := record(t, s, "a")
	if _, err := s.Get(t.Context(), serving.RecordingReader{Caller: "a"}, id); err == nil {
		t.Error("it was found")
	}
	if err := s.write(id, head{}, func(io.Writer) error { return nil }); err == nil {
		t.Error("it was written")
	}
}

// TestCheckSeal_EachBitCounts flips bits of a sealed recording, of which each must be noticed.
func TestCheckSeal_EachBitCounts(t *testing.T) {
	key := must.Get(receipt.NewKey())(t)
	text := must.Get(json.Marshal(key.Public()))(t)
	keys := must.Get(receipt.ParseKeys(text))(t)
	s := open(t, t.TempDir(), wide)
	s.SealWith(key)
	id := record(t, s, "alice")
	file := must.Get(s.Get(t.Context(), serving.RecordingReader{Caller: "alice"}, id))(t)
	defer file.Close() //nolint:errcheck // it was only read
	data := must.Get(io.ReadAll(file))(t)
	if got, err := CheckSeal(keys, data); err != nil || got != id {
		t.Fatal(got, err)
	}
	if _, err := session.Read(bytes.NewReader(data)); err != nil {
		t.Errorf("it cannot be read with its seal: %v", err)
	}
	bits := make([]int, 8*len(data))
	for i := range bits {
		bits[i] = i
	}
	for _, bit := range steadytest.Some(t, bits, 500) {
		changed := slices.Clone(data)
		changed[bit/8] ^= 1 << (bit % 8)
		if _, err := CheckSeal(keys, changed); err == nil {
			t.Errorf("bit %d of %d does not count", bit, len(bits))
		}
	}
	for _, other := range [][]byte{nil, data[:len(data)-1], append(slices.Clone(data), 0), append(slices.Clone(data), data...)} {
		if _, err := CheckSeal(keys, other); err == nil {
			t.Errorf("%d bytes in the place of %d pass", len(other), len(data))
		}
	}
}
