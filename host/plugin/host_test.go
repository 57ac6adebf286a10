// SPDX-License-Identifier: MIT

package plugin

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler"
)

// asking is a guest whose open calls a function and keeps what it leaves: the answer at atScratch, what it writes at
// atBuffer.
func asking(name string, args ...int) *guestModule {
	g := plain()
	code := [][]byte{i32(atScratch)}
	for _, a := range args {
		code = append(code, i32(a))
	}
	kind := store
	if returnsLong(name) {
		kind = store64
	}
	return g.On(abi.ExportOpen, append(code, g.Call(name), kind, i32(0))...)
}

func TestHost_Functions_Answer(t *testing.T) {
	pieces := binary.LittleEndian.AppendUint32(nil, 0)
	n := 0
	for i := range int32(100) {
		n += len(words100{}.Piece(i))
		pieces = binary.LittleEndian.AppendUint32(pieces, uint32(n))
	}
	config := `{"a":1}`
	for name, tc := range map[string]struct {
		function string
		args     []int
		want     int32
		written  string
	}{
		"config":             {"config", []int{atBuffer, 7}, 7, config},
		"config, no room":    {"config", []int{atBuffer, 6}, 7, "\x00\x00"},
		"messages, none":     {"messages", []int{atBuffer, 64}, 0, ""},
		"history":            {"history", []int{0, atBuffer, 2}, 2, "\x0b\x00\x00\x00\x0c\x00\x00\x00"},
		"history, no room":   {"history", []int{0, atBuffer, 1}, 2, "\x00\x00"},
		"history, part":      {"history", []int{1, atBuffer, 2}, 1, "\x0c\x00\x00\x00\x00\x00\x00\x00"},
		"history, last":      {"history", []int{-1, atBuffer, 1}, 1, "\x0c\x00\x00\x00"},
		"history, behind":    {"history", []int{3, atBuffer, 2}, 0, "\x00"},
		"history, before":    {"history", []int{-1 << 31, atBuffer, 2}, 2, "\x0b\x00\x00\x00"},
		"feature":            {"feature", []int{atManifest + 2, 4}, 0, ""}, // "name"
		"prompt tokens":      {"param", []int{0}, 2, ""},
		"max tokens":         {"param", []int{1}, 50, ""},
		"context":            {"param", []int{2}, 1000, ""},
		"seed":               {"param", []int{3}, 7, ""},
		"unknown param":      {"param", []int{4}, -1, ""},
		"vocab_size":         {"vocab_size", nil, 100, ""},
		"piece":              {"piece", []int{42, atBuffer, 8}, 3, "42 "},
		"piece, none":        {"piece", []int{100, atBuffer, 8}, -1, ""},
		"piece, negative":    {"piece", []int{-1, atBuffer, 8}, -1, ""},
		"vocab, size":        {"vocab", []int{0, 0}, int32(len(pieces) + n), ""},
		"vocab":              {"vocab", []int{atBuffer, 4096}, int32(len(pieces) + n), string(pieces) + "1 2 3 "},
		"control":            {"token_attr", []int{0}, 3, ""},
		"attributes of none": {"token_attr", []int{100}, -1, ""},
		"eos":                {"special", []int{1}, 0, ""},
		"no bos":             {"special", []int{0}, -1, ""},
		"unknown special":    {"special", []int{99}, -1, ""},
		"tokenize":           {"tokenize", []int{atManifest + 16, 0, 0, atBuffer, 9}, 0, ""},
		"unknown flag":       {"tokenize", []int{atBuffer, 0, 4, atBuffer, 9}, -1, ""},
		"untokenizable":      {"tokenize", []int{atManifest, 4, 0, atBuffer, 9}, -1, ""},
		"no grammars":        {"grammar_open", []int{0, atManifest, 4}, -1, ""},
		"no such handle":     {"grammar_accept", []int{0, 1}, -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := mustLoad(t, newTestRuntime(t), asking(tc.function, tc.args...))
			s := useOf(t, m, Request{Config: []byte(config), Seed: 7, MaxTokens: 50, ContextSize: 1000}, 11, 12)
			if got := peek(s, atScratch); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
			if got := s.instance.region.Bytes()[atBuffer:][:len(tc.written)]; string(got) != tc.written {
				t.Errorf("got %q, want %q", got, tc.written)
			}
		})
	}
}

func TestHost_Tokenize_GivesTokens(t *testing.T) {
	g := asking("tokenize", atManifest+1024, 5, 3, atBuffer, 9)
	g.Put(atManifest+1024, "12 34")
	s := use(t, g, 1)
	if peek(s, atScratch) != 2 || peek(s, atBuffer) != 12 || peek(s, atBuffer+4) != 34 {
		t.Errorf("%d tokens: %d %d", peek(s, atScratch), peek(s, atBuffer), peek(s, atBuffer+4))
	}
}

func TestHost_Functions_OutOfBounds(t *testing.T) {
	const memory = 4 << 16
	for name, tc := range map[string]struct {
		function string
		args     []int
	}{
		"config":       {"config", []int{memory - 1, 7}},
		"a long limit": {"config", []int{atBuffer, -1}},
		"history":      {"history", []int{0, memory - 4, 2}},
		"wrapping":     {"history", []int{0, -8, 0x40000000}},
		"piece":        {"piece", []int{1, -1, 1}},
		"vocab":        {"vocab", []int{memory, 1}},
		"tokenize":     {"tokenize", []int{-1, 1, 0, 0, 0}},
		"tokens":       {"tokenize", []int{0, 0, 0, memory - 2, 1}},
		"grammar":      {"grammar_open", []int{0, memory, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := mustLoad(t, newTestRuntime(t), asking(tc.function, tc.args...)).NewStage(Request{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			mustFault(t, s.Rewind([]int32{1, 2}, 2), abi.ExportOpen, CauseMemory, "the memory has 262144")
		})
	}
}

func TestHost_Functions_OutOfPlace(t *testing.T) {
	emitting := plain()
	emitting.On(abi.ExportPrepare, i32(0), i32(1), emitting.Call("emit"), i32(0))
	_, err := use(t, emitting, 1).Prepare()
	mustFault(t, err, abi.ExportPrepare, CauseCall, "emit")

	masking := accepting(i32(0))
	masking.Funcs = masking.Funcs[:3]
	masking.On(abi.ExportAccept, i32(0), masking.Call("grammar_mask"))
	_, err = use(t, masking, 1).Accept(1)
	mustFault(t, err, abi.ExportAccept, CauseCall, "grammar_mask")
}

func TestHost_Functions_Cost(t *testing.T) {
	for name, code := range map[string]func(g *guestModule) []byte{
		"calls alone": func(g *guestModule) []byte { return slices.Concat(g.Call("vocab_size"), drop) },
		"bytes":       func(g *guestModule) []byte { return slices.Concat(i32(0), i32(0), i32(4<<16), g.Call("log")) },
		"text": func(g *guestModule) []byte {
			return slices.Concat(i32(0), i32(4<<16), i32(0), i32(0), i32(0), g.Call("tokenize"), drop)
		},
		"grammars": func(g *guestModule) []byte {
			return slices.Concat(i32(0), i32(0), i32(4<<16), g.Call("grammar_open"), drop)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := plain()
			body := code(g)
			g.On(abi.ExportPrepare, asm.Loop(body))
			_, err := use(t, g, 1).Prepare()
			mustFault(t, err, abi.ExportPrepare, CauseFuel, "")
		})
	}
}

func TestHost_Random_DependsOnPlaceAndPosition(t *testing.T) {
	g := plain()
	for _, at := range []string{abi.ExportPrepare, abi.ExportAccept} {
		g.On(at, i32(atScratch), g.Call("random"), store64, i32(atScratch+8), g.Call("random"), store64, i32(0))
	}
	m := mustLoad(t, newTestRuntime(t), g)
	draw := func(seed uint64, place int, prompt ...int32) [4]int32 {
		s := useOf(t, m, Request{Seed: seed, Place: place}, prompt...)
		if _, err := s.Prepare(); err != nil {
			t.Fatal(err)
		}
		return [4]int32{peek(s, atScratch), peek(s, atScratch+4), peek(s, atScratch+8), peek(s, atScratch+12)}
	}
	first := draw(1, 0, 5)
	if again := draw(1, 0, 6); again != first {
		t.Error("the same seed, place and position drew differently")
	}
	seen := map[[4]int32]bool{first: true}
	for _, other := range [][4]int32{draw(2, 0, 5), draw(1, 1, 5), draw(1, 0, 5, 5)} {
		if seen[other] {
			t.Error("another seed, place or position drew the same")
		}
		seen[other] = true
	}
	if first[0] == first[2] && first[1] == first[3] {
		t.Error("two draws at one position are the same")
	}
}

func TestHost_Log_IsBoundedAndAttached(t *testing.T) {
	g := plain()
	g.Put(atScratch, "line with \xff bytes")
	g.On(abi.ExportPrepare, i32(2), i32(atScratch), i32(17), g.Call("log"), unreachable)
	_, err := use(t, g, 1).Prepare()
	mustFault(t, err, abi.ExportPrepare, CauseTrap, "its log ends with: line with \uFFFD bytes")

	flood := plain()
	flood.On(abi.ExportPrepare, i32(0), i32(0), i32(3<<16), flood.Call("log"), i32(0))
	s := use(t, flood, 1)
	for range 3 {
		if _, err := s.Prepare(); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.session.capture.lines; len(got) != 1 || len(got[0]) > abi.LimitLogBytes+64 || !strings.HasSuffix(got[0], "is cut)") {
		t.Errorf("%d lines", len(got))
	}
}

// TestCapture_WholeCharacters: a log is cut between characters; what was no UTF-8 before shows.
func TestCapture_WholeCharacters(t *testing.T) {
	for i := range 4 {
		c := capture{left: 40}
		c.add(abi.LogInfo, []byte(strings.Repeat("x", i)+strings.Repeat("🐸", 100)))
		if got := c.last(); len(got) != 1 || strings.ContainsRune(got[0], utf8.RuneError) || !strings.Contains(got[0], "🐸") {
			t.Errorf("%d letters before: %q", i, got)
		}
	}
	if got := whole([]byte("a\xff")); string(got) != "a\xff" {
		t.Errorf("got %q", got)
	}
}

// TestHost_Fail_WholeCharacters: a refusal that is too long is cut between characters.
func TestHost_Fail_WholeCharacters(t *testing.T) {
	for i := range 4 {
		text := strings.Repeat("x", i) + strings.Repeat("🐸", abi.LimitFailBytes/4+1)
		g := plain()
		g.Put(atScratch, text)
		g.On(abi.ExportOpen, i32(atScratch), i32(len(text)), g.Call("fail"), i32(1))
		s, err := mustLoad(t, newTestRuntime(t), g).NewStage(Request{})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Rewind([]scheduler.Token{1}, 1)
		var refusal *Refusal
		if !errors.As(err, &refusal) || strings.ContainsRune(refusal.Message, utf8.RuneError) || !strings.HasSuffix(refusal.Message, "🐸") {
			t.Errorf("%d letters before: %.60v", i, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCapture_Write_MakesLines(t *testing.T) {
	c := capture{left: 400}
	for _, part := range []string{"one\ntw", "o\n", "\n", "three"} {
		c.write(1, []byte(part))
	}
	if got := c.last(); !slices.Equal(got, []string{"one", "two", "", "three"}) {
		t.Errorf("got %q", got)
	}
	for range 100 {
		c.write(2, []byte("\n\n\n"))
	}
	if len(c.lines) > lastLines || !c.cut {
		t.Errorf("%d lines, cut %v", len(c.lines), c.cut)
	}
}
