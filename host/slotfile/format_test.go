// SPDX-License-Identifier: MIT

package slotfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/tools/must"
)

func written(t testing.TB, tokens []kvcache.Token, contents []byte, o origin) []byte {
	t.Helper()
	var b bytes.Buffer
	o.Bytes = len(contents)
	states := [][]byte{contents}
	for _, p := range o.Checkpoints {
		states = append(states, bytes.Repeat([]byte{byte(p.N)}, p.Bytes))
	}
	n := must.Get(write(&b, tokens, states, o))(t)
	if n != int64(b.Len()) {
		t.Errorf("%d bytes written, %d told", b.Len(), n)
	}
	return b.Bytes()
}

// all reads a file that may be anything.
func all(file []byte) (tokens []kvcache.Token, contents []byte, o origin, err error) {
	r, err := open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, nil, o, err
	}
	contents = make([]byte, r.origin.Bytes)
	states := [][]byte{contents}
	for _, p := range r.origin.Checkpoints {
		states = append(states, make([]byte, p.Bytes))
	}
	if tokens, err = r.read(states); err != nil {
		return nil, nil, o, err
	}
	for i, p := range r.origin.Checkpoints {
		if len(bytes.TrimLeft(states[1+i], string(rune(p.N)))) > 0 {
			return nil, nil, o, fmt.Errorf("the checkpoint at %d is %v", p.N, states[1+i])
		}
	}
	return tokens, contents, r.origin, nil
}

func TestRead_WhatWasWritten(t *testing.T) {
	contents := bytes.Repeat([]byte("state"), 5000)
	want := origin{Model: "m", Adapters: "a:1 ", From: 7, Bytes: len(contents), Checkpoints: []savedCheckpoint{{1, 70}, {2, 5}}}
	tokens, got, o, err := all(written(t, []kvcache.Token{1, 2, 300}, contents, want))
	if err != nil || !slices.Equal(tokens, []kvcache.Token{1, 2, 300}) || !bytes.Equal(got, contents) || !reflect.DeepEqual(o, want) {
		t.Errorf("%v, %d bytes, %+v, %v", tokens, len(got), o, err)
	}
}

// A file has the hashes and the shapes of pictures, and none of the numbers that this process has
// for their rows.
func TestRead_Pieces(t *testing.T) {
	tokens := []kvcache.Token{1, -20, -19, -18, 2, -40, -39, 300}
	placed := []piece.Placed{
		{At: 1, Shape: piece.Shape{Hash: sha256.Sum256([]byte("a")), Rows: 3, Positions: 2, Columns: 2}},
		{At: 5, Shape: piece.Shape{Hash: sha256.Sum256([]byte("b")), Rows: 2, Positions: 2, Whole: true}},
	}
	read, _, o, err := all(written(t, tokens, []byte("the state"), origin{Model: "m", Pieces: savedPieces(placed)}))
	if err != nil || !slices.Equal(read, []kvcache.Token{1, -1, -1, -1, 2, -1, -1, 300}) {
		t.Errorf("%v, %v", read, err)
	}
	if got, err := o.pieces(); err != nil || !slices.Equal(got, placed) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, hash := range []string{"", "00", strings.Repeat("x", 64)} {
		if _, err := (&origin{Pieces: []savedPiece{{Hash: hash}}}).pieces(); !errors.Is(err, errDamaged) {
			t.Errorf("hash %q: %v", hash, err)
		}
	}
}

// Every byte counts, and every length.
func TestRead_Damaged(t *testing.T) {
	file := written(t, []kvcache.Token{1, 2, 300}, []byte("the state"), origin{Model: "m", Checkpoints: []savedCheckpoint{{2, 3}}})
	for i := range file {
		damaged := slices.Clone(file)
		damaged[i] ^= 0x10
		if _, _, _, err := all(damaged); !isRefusal(err) {
			t.Errorf("byte %d: %v", i, err)
		}
		if _, _, _, err := all(file[:i]); !isRefusal(err) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
	if _, _, _, err := all(append(file, 0)); !isRefusal(err) {
		t.Errorf("a byte more: %v", err)
	}
}

func isRefusal(err error) bool {
	return errors.Is(err, errDamaged) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func FuzzRead(f *testing.F) {
	f.Add(written(f, []kvcache.Token{1, 2, 300}, []byte("the state"), origin{Model: "m"}))
	f.Add(written(f, []kvcache.Token{1, 2, 300}, []byte("the state"), origin{Model: "m", Checkpoints: []savedCheckpoint{{1, 3}, {2, 5}}}))
	f.Add([]byte(end))
	f.Fuzz(func(t *testing.T, file []byte) {
		tokens, contents, o, err := all(file)
		if err != nil {
			return
		}
		if again, _, _, err := all(written(t, tokens, contents, o)); err != nil || !slices.Equal(again, tokens) {
			t.Errorf("what was read and written again: %v, %v", again, err)
		}
	})
}
