// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// asking is a guest whose open calls a function and keeps what it leaves: the answer at atScratch,
// what it writes at atBuffer.
func asking(name string, args ...int) *asm.Guest {
	g := hosttest.Plain()
	code := [][]byte{i32c(hosttest.AtScratch)}
	for _, a := range args {
		code = append(code, i32c(a))
	}
	kind := store
	if returnsLong(name) {
		kind = store64
	}
	return g.On(abi.ExportOpen, append(code, g.Call(name), kind, i32c(0))...)
}

func TestHost_Functions_Answer(t *testing.T) {
	pieces := binary.LittleEndian.AppendUint32(nil, 0)
	n := 0
	for i := range int32(100) {
		n += len(hosttest.Words{}.Piece(i))
		pieces = binary.LittleEndian.AppendUint32(pieces, uint32(n))
	}
	config := `{"a":1}`
	for name, tc := range map[string]struct {
		function string
		args     []int
		want     int32
		written  string
	}{
		"config":             {"config", []int{hosttest.AtBuffer, 7}, 7, config},
		"config, no room":    {"config", []int{hosttest.AtBuffer, 6}, 7, "\x00\x00"},
		"messages, none":     {"messages", []int{hosttest.AtBuffer, 64}, 0, ""},
		"history":            {"history", []int{0, hosttest.AtBuffer, 2}, 2, "\x0b\x00\x00\x00\x0c\x00\x00\x00"},
		"history, no room":   {"history", []int{0, hosttest.AtBuffer, 1}, 2, "\x00\x00"},
		"history, part":      {"history", []int{1, hosttest.AtBuffer, 2}, 1, "\x0c\x00\x00\x00\x00\x00\x00\x00"},
		"history, last":      {"history", []int{-1, hosttest.AtBuffer, 1}, 1, "\x0c\x00\x00\x00"},
		"history, behind":    {"history", []int{3, hosttest.AtBuffer, 2}, 0, "\x00"},
		"history, before":    {"history", []int{-1 << 31, hosttest.AtBuffer, 2}, 2, "\x0b\x00\x00\x00"},
		"feature":            {"feature", []int{hosttest.AtManifest + 2, 4}, 0, ""}, // "name"
		"prompt tokens":      {"param", []int{0}, 2, ""},
		"max tokens":         {"param", []int{1}, 50, ""},
		"context":            {"param", []int{2}, 1000, ""},
		"seed":               {"param", []int{3}, 7, ""},
		"unknown param":      {"param", []int{4}, -1, ""},
		"vocab_size":         {"vocab_size", nil, 100, ""},
		"piece":              {"piece", []int{42, hosttest.AtBuffer, 8}, 3, "42 "},
		"piece, none":        {"piece", []int{100, hosttest.AtBuffer, 8}, -1, ""},
		"piece, negative":    {"piece", []int{-1, hosttest.AtBuffer, 8}, -1, ""},
		"vocab, size":        {"vocab", []int{0, 0}, int32(len(pieces) + n), ""},
		"vocab":              {"vocab", []int{hosttest.AtBuffer, 4096}, int32(len(pieces) + n), string(pieces) + "1 2 3 "},
		"control":            {"token_attr", []int{0}, 3, ""},
		"attributes of none": {"token_attr", []int{100}, -1, ""},
		"eos":                {"special", []int{1}, 0, ""},
		"no bos":             {"special", []int{0}, -1, ""},
		"unknown special":    {"special", []int{99}, -1, ""},
		"tokenize":           {"tokenize", []int{hosttest.AtManifest + 16, 0, 0, hosttest.AtBuffer, 9}, 0, ""},
		"unknown flag":       {"tokenize", []int{hosttest.AtBuffer, 0, 4, hosttest.AtBuffer, 9}, -1, ""},
		"untokenizable":      {"tokenize", []int{hosttest.AtManifest, 4, 0, hosttest.AtBuffer, 9}, -1, ""},
		"no grammars":        {"grammar_open", []int{0, hosttest.AtManifest, 4}, -1, ""},
		"no such handle":     {"grammar_accept", []int{0, 1}, -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := mustLoad(t, newTestHost(t), asking(tc.function, tc.args...))
			s := useOf(t, m, plugin.RequestInfo{Config: []byte(config), Seed: 7, MaxTokens: 50, ContextSize: 1000}, 11, 12)
			if got := peek(s, hosttest.AtScratch); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
			if got := s.Memory()[hosttest.AtBuffer:][:len(tc.written)]; string(got) != tc.written {
				t.Errorf("got %q, want %q", got, tc.written)
			}
		})
	}
}

func TestHost_Tokenize_GivesTokens(t *testing.T) {
	g := asking("tokenize", hosttest.AtManifest+1024, 5, 3, hosttest.AtBuffer, 9)
	g.Put(hosttest.AtManifest+1024, "12 34")
	s := use(t, g, 1)
	if peek(s, hosttest.AtScratch) != 2 || peek(s, hosttest.AtBuffer) != 12 || peek(s, hosttest.AtBuffer+4) != 34 {
		t.Errorf("%d tokens: %d %d", peek(s, hosttest.AtScratch), peek(s, hosttest.AtBuffer), peek(s, hosttest.AtBuffer+4))
	}
}

func TestHost_Functions_OutOfBounds(t *testing.T) {
	const memory = 4 << 16
	for name, tc := range map[string]struct {
		function string
		args     []int
	}{
		"config":       {"config", []int{memory - 1, 7}},
		"a long limit": {"config", []int{hosttest.AtBuffer, -1}},
		"history":      {"history", []int{0, memory - 4, 2}},
		"wrapping":     {"history", []int{0, -8, 0x40000000}},
		"piece":        {"piece", []int{1, -1, 1}},
		"vocab":        {"vocab", []int{memory, 1}},
		"tokenize":     {"tokenize", []int{-1, 1, 0, 0, 0}},
		"tokens":       {"tokenize", []int{0, 0, 0, memory - 2, 1}},
		"grammar":      {"grammar_open", []int{0, memory, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, mustLoad(t, newTestHost(t), asking(tc.function, tc.args...)), plugin.RequestInfo{}, 1, 2)
			hosttest.MustFault(t, s.open(), abi.ExportOpen, plugin.CauseMemory, "the memory has 262144")
		})
	}
}

func TestHost_Functions_OutOfPlace(t *testing.T) {
	emitting := hosttest.Plain()
	emitting.On(abi.ExportPrepare, i32c(0), i32c(1), emitting.Call("emit"), i32c(0))
	_, err := use(t, emitting, 1).prepare()
	hosttest.MustFault(t, err, abi.ExportPrepare, plugin.CauseCall, "emit")

	masking := hosttest.Plain()
	masking.On(abi.ExportAccept, i32c(0), masking.Call("grammar_mask"))
	_, err = use(t, masking, 1).accept(1)
	hosttest.MustFault(t, err, abi.ExportAccept, plugin.CauseCall, "grammar_mask")
}

func TestHost_Functions_Cost(t *testing.T) {
	for name, code := range map[string]func(g *asm.Guest) []byte{
		"calls alone": func(g *asm.Guest) []byte { return slices.Concat(g.Call("vocab_size"), drop) },
		"bytes":       func(g *asm.Guest) []byte { return slices.Concat(i32c(0), i32c(0), i32c(4<<16), g.Call("log")) },
		"text": func(g *asm.Guest) []byte {
			return slices.Concat(i32c(0), i32c(4<<16), i32c(0), i32c(0), i32c(0), g.Call("tokenize"), drop)
		},
		"grammars": func(g *asm.Guest) []byte {
			return slices.Concat(i32c(0), i32c(0), i32c(4<<16), g.Call("grammar_open"), drop)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := hosttest.Plain()
			body := code(g)
			g.On(abi.ExportPrepare, asm.Loop(body))
			_, err := use(t, g, 1).prepare()
			hosttest.MustFault(t, err, abi.ExportPrepare, plugin.CauseFuel, "")
		})
	}
}

func TestHost_Random_DependsOnPlaceAndPosition(t *testing.T) {
	g := hosttest.Plain()
	for _, at := range []string{abi.ExportPrepare, abi.ExportAccept} {
		g.On(at, i32c(hosttest.AtScratch), g.Call("random"), store64, i32c(hosttest.AtScratch+8), g.Call("random"), store64, i32c(0))
	}
	m := mustLoad(t, newTestHost(t), g)
	draw := func(seed uint64, index int, prompt ...int32) [4]int32 {
		s := useOf(t, m, plugin.RequestInfo{Seed: seed, Index: index}, prompt...)
		must.Get(s.prepare())(t)
		return [4]int32{peek(s, hosttest.AtScratch), peek(s, hosttest.AtScratch+4), peek(s, hosttest.AtScratch+8), peek(s, hosttest.AtScratch+12)}
	}
	first := draw(1, 0, 5)
	if again := draw(1, 0, 6); again != first {
		t.Error("the same seed, index and position drew differently")
	}
	seen := map[[4]int32]bool{first: true}
	for _, other := range [][4]int32{draw(2, 0, 5), draw(1, 1, 5), draw(1, 0, 5, 5)} {
		if seen[other] {
			t.Error("another seed, index or position drew the same")
		}
		seen[other] = true
	}
	if first[0] == first[2] && first[1] == first[3] {
		t.Error("two draws at one position are the same")
	}
}

func TestHost_Log_IsBoundedAndAttached(t *testing.T) {
	g := hosttest.Plain()
	g.Put(hosttest.AtScratch, "line with \xff bytes")
	g.On(abi.ExportPrepare, i32c(2), i32c(hosttest.AtScratch), i32c(17), g.Call("log"), unreachable)
	_, err := use(t, g, 1).prepare()
	hosttest.MustFault(t, err, abi.ExportPrepare, plugin.CauseTrap, "its log ends with: line with \uFFFD bytes")

	flood := hosttest.Plain()
	flood.On(abi.ExportPrepare, i32c(0), i32c(0), i32c(3<<16), flood.Call("log"), i32c(0))
	s := use(t, flood, 1)
	for range 3 {
		must.Get(s.prepare())(t)
	}
	if got := s.session.log.lines; len(got) != 1 || len(got[0]) > abi.LimitLogBytes+64 || !strings.HasSuffix(got[0], "is cut)") {
		t.Errorf("%d lines", len(got))
	}
}

// TestGuestLog_WholeCharacters: a log is cut between characters; what was no UTF-8 before shows.
func TestGuestLog_WholeCharacters(t *testing.T) {
	for i := range 4 {
		c := guestLog{left: 40}
		c.add(abi.LogInfo, []byte(strings.Repeat("x", i)+strings.Repeat("🐸", 100)))
		if got := c.last(); len(got) != 1 || strings.ContainsRune(got[0], utf8.RuneError) || !strings.Contains(got[0], "🐸") {
			t.Errorf("%d letters before: %q", i, got)
		}
	}
	if got := dropCutCharacter([]byte("a\xff")); string(got) != "a\xff" {
		t.Errorf("got %q", got)
	}
}

// TestHost_Fail_WholeCharacters: a refusal that is too long is cut between characters.
func TestHost_Fail_WholeCharacters(t *testing.T) {
	for i := range 4 {
		text := strings.Repeat("x", i) + strings.Repeat("🐸", abi.LimitFailBytes/4+1)
		g := hosttest.Plain()
		g.Put(hosttest.AtScratch, text)
		g.On(abi.ExportOpen, i32c(hosttest.AtScratch), i32c(len(text)), g.Call("fail"), i32c(1))
		s := begin(t, mustLoad(t, newTestHost(t), g), plugin.RequestInfo{}, 1)
		err := s.open()
		var refusal *plugin.Refusal
		if !errors.As(err, &refusal) || strings.ContainsRune(refusal.Message, utf8.RuneError) || !strings.HasSuffix(refusal.Message, "🐸") {
			t.Errorf("%d letters before: %.60v", i, err)
		}
	}
}

func TestGuestLog_Output_MakesLines(t *testing.T) {
	c := guestLog{left: 400}
	for _, part := range []string{"one\ntw", "o\n", "\n", "three"} {
		c.output(1, []byte(part))
	}
	if got := c.last(); !slices.Equal(got, []string{"one", "two", "", "three"}) {
		t.Errorf("got %q", got)
	}
	for range 100 {
		c.output(2, []byte("\n\n\n"))
	}
	if len(c.lines) > lastLines || !c.cut {
		t.Errorf("%d lines, cut %v", len(c.lines), c.cut)
	}
}
