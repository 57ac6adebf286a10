// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

// engine is a host whose grammar 3 takes nine tokens; it refuses texts of three bytes.
type engine struct {
	abi.Absent
	lacks bool // it is an old host
}

func (e engine) Feature(unsafe.Pointer, int32) int32 {
	if e.lacks {
		return 0
	}
	return 1
}

func (engine) GrammarOpen(_ int32, _ unsafe.Pointer, size int32) int32 {
	if size == 3 {
		return -1
	}
	return 3
}

func (engine) GrammarReason(to unsafe.Pointer, limit int32) int32 {
	const reason = "#/a: bad"
	if int(limit) >= len(reason) {
		copy(unsafe.Slice((*byte)(to), limit), reason)
	}
	return int32(len(reason))
}

func (engine) GrammarMaskWithin(handle, tokens int32) int32 {
	switch {
	case handle != 3:
		return abi.WithinRefused
	case tokens < 9:
		return abi.WithinTooFew
	}
	return abi.WithinFilled
}

func (engine) GrammarRest(handle int32) int32 {
	return map[int32]int32{3: 9, 4: abi.RestEnded}[handle] + map[bool]int32{true: abi.RestUnknown}[handle > 4]
}

func TestOpen_TellsTheReason(t *testing.T) {
	defer abi.Use(abi.Use(engine{}))
	if _, err := Open(JSONSchema, "bad"); !errors.Is(err, ErrGrammar) || err.Error() != "#/a: bad" {
		t.Errorf("got %v", err)
	}
	abi.Use(engine{lacks: true})
	if _, err := Open(JSONSchema, "bad"); err != ErrGrammar { //nolint:errorlint // it is the one
		t.Errorf("on an old host: %v", err)
	}
}

func TestGrammar_FillWithin_AndRest(t *testing.T) {
	defer abi.Use(abi.Use(engine{}))
	g, err := Open(JSONSchema, "true")
	if err != nil {
		t.Fatal(err)
	}
	got := []error{g.FillWithin(nil, 9), g.FillWithin(nil, 1<<40), g.FillWithin(nil, 8), Grammar{5}.FillWithin(nil, 9)}
	if !slices.Equal(got, []error{nil, nil, ErrTooFew, ErrMask}) {
		t.Errorf("got %v", got)
	}
	for handle, want := range map[int32]struct {
		tokens int
		ended  bool
		err    error
	}{3: {9, false, nil}, 4: {0, true, nil}, 5: {0, false, ErrRest}} {
		if n, ended, err := (Grammar{handle}).Rest(); n != want.tokens || ended != want.ended || !errors.Is(err, want.err) {
			t.Errorf("handle %d: %d, %v, %v", handle, n, ended, err)
		}
	}
	abi.Use(engine{lacks: true})
	if _, _, err := g.Rest(); !errors.Is(err, ErrRest) || !errors.Is(g.FillWithin(nil, 9), ErrRest) {
		t.Errorf("on an old host: %v", err)
	}
}
