// SPDX-License-Identifier: MIT

package diskcache

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/tools/must"
)

var testKey = key(sha256.Sum256([]byte("key")))

// written is a conversation as a file has it.
func written(t testing.TB, s *kvcache.Saved, in space) []byte {
	t.Helper()
	h := head{id: [16]byte{1}, identity: in.identity}
	a := aboutOf(s, in, kvcache.Digests(s.Tokens))
	said := must.Get(testKey.describe(&h, &a))(t)
	var b bytes.Buffer
	must.Do(t, testKey.write(&b, &h, said, s, func() error { return nil }))
	if a.size(&h) != int64(b.Len()) {
		t.Errorf("%d bytes written, %d told", b.Len(), a.size(&h))
	}
	return b.Bytes()
}

// whole reads a file that may be anything.
func whole(states *states, file []byte) (*kvcache.Saved, about, error) {
	h, a, err := testKey.readAbout(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, a, err
	}
	s, err := testKey.readContents(bytes.NewReader(file[headSize+int(h.about)+sealSize:]), &h, &a, kvcache.Scope{Salt: "salt"}, states)
	return s, a, err
}

// small is a conversation with everything that there may be.
func small(states *states) *kvcache.Saved {
	list := []kvcache.Token{1, -20, -19, -18, 2, 300}
	for i := range 70 {
		list = append(list, kvcache.Token(i))
	}
	return &kvcache.Saved{Tokens: list, Scope: kvcache.Scope{Salt: "salt"}, State: states.make([]byte("the state")), Prompt: 3, Continued: true, Computing: 5,
		Pieces:      []piece.Placed{{At: 1, Shape: piece.Shape{Hash: sha256.Sum256([]byte("a")), Rows: 3, Positions: 2, Columns: 2}}},
		Checkpoints: []kvcache.SavedCheckpoint{{N: 5, State: states.make([]byte("at five"))}, {N: 9, State: states.make(nil)}}}
}

func TestFile_ComesBack(t *testing.T) {
	states := &states{}
	s := small(states)
	in := space{owner: "owner", adapters: "a:1 ", from: 7}
	got, a := must.Both(whole(states, written(t, s, in)))(t)
	want := slices.Clone(s.Tokens)
	want[1], want[2], want[3] = -1, -1, -1 // a number of this process means nothing in another
	if !slices.Equal(got.Tokens, want) || !reflect.DeepEqual(got.Pieces, s.Pieces) || string(got.State.Contents()) != "the state" ||
		len(got.Checkpoints) != 2 || string(got.Checkpoints[0].State.Contents()) != "at five" || got.Prompt != 3 || !got.Continued || got.Cuttable || got.Computing != 5 {
		t.Errorf("%+v", got)
	}
	if string(a.Owner) != "owner" || a.Adapters != "a:1 " || a.From != 7 || !slices.Equal(a.digests(), kvcache.Digests(s.Tokens)) {
		t.Errorf("%+v", a)
	}
	_, _ = got.Close(), s.Close()
	if states.open.Load() != 0 {
		t.Error("states are open")
	}
}

// Each changed byte, and each missing or further one, is noticed, and nothing stays open.
func TestFile_EachByteCounts(t *testing.T) {
	states := &states{}
	s := small(states)
	defer func() { _ = s.Close() }()
	file := written(t, s, space{})
	before := states.open.Load()
	check := func(what string, at int, changed []byte) {
		if got, _, err := whole(states, changed); !errors.Is(err, errDamaged) && !errors.Is(err, errForeign) || got != nil {
			t.Errorf("byte %d %s: %v", at, what, err)
		}
	}
	for i := range file {
		changed := slices.Clone(file)
		changed[i] ^= 1 << (i % 8)
		check("changed", i, changed)
		check("is the end", i, file[:i])
	}
	check("is one more", len(file), append(slices.Clone(file), 0))
	if states.open.Load() != before {
		t.Error("states are open")
	}
}

// Parts of one file are none of another, or of another place.
func TestFile_ChunksStayInPlace(t *testing.T) {
	states := &states{}
	list := tokens(64, 1)
	state := make([]byte, 2*chunkSize)
	s := &kvcache.Saved{Tokens: list, Scope: kvcache.Scope{Salt: "salt"}, State: states.make(state)}
	file := written(t, s, space{})
	end := len(file) - chunkSize - sealSize
	first, second := slices.Clone(file[end-chunkSize-sealSize:end]), slices.Clone(file[end:])
	copy(file[end-len(first):], second)
	copy(file[end:], first)
	if _, _, err := whole(states, file); !errors.Is(err, errDamaged) {
		t.Errorf("got %v", err)
	}
	_ = s.Close()
}

// FuzzFile: whatever a file is, reading it ends, within memory that the file itself accounts for.
func FuzzFile(f *testing.F) {
	states := &states{}
	s := small(states)
	f.Add(written(f, s, space{}))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, file []byte) {
		if got, _, err := whole(states, file); err == nil {
			_ = got.Close()
		}
	})
}

// FuzzAbout: what is said of a conversation, by whoever has the key, claims no more than there is.
func FuzzAbout(f *testing.F) {
	f.Add([]byte(`{"owner":"","tokens":64,"state":3,"digests":"AAAAAAAAAAA="}`), uint64(4*64+3))
	f.Add([]byte(`{"tokens":1,"state":-1,"checkpoints":[{"n":1,"bytes":1}]}`), uint64(4))
	f.Fuzz(func(t *testing.T, said []byte, contents uint64) {
		h := head{about: uint32(len(said)), contents: contents}
		h.key = testKey.name()
		file := testKey.sealer(&h, purposeAbout).seal(h.bytes(), said)
		h, a, err := testKey.readAbout(bytes.NewReader(file), int64(len(file)))
		if err == nil && a.size(&h) != int64(len(file)) {
			t.Errorf("%+v of %d bytes", a, len(file))
		}
	})
}
