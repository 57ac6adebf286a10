// SPDX-License-Identifier: MIT

package plugintest

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// host answers what the plugin of a session asks. plugins/abi/testdata/hostcalls.json has calls
// that the real host must answer in the same way. What it has no method for ends the test.
type host struct {
	abi.Absent
	s *Session
}

// give writes what there is if it fits, and returns how much that is.
func give[T byte | float32 | penstock.Token](all []T, to unsafe.Pointer, limit int32) int32 {
	if len(all) <= int(limit) {
		copy(unsafe.Slice((*T)(to), limit), all)
	}
	return int32(len(all))
}

func giveIf(there bool, text string, to unsafe.Pointer, limit int32) int32 {
	if !there {
		return 0
	}
	return give([]byte(text), to, limit)
}

func take(from unsafe.Pointer, size int32) string {
	return strings.Clone(unsafe.String((*byte)(from), size))
}

// during reports whether one of these calls is made.
func (h host) during(calls ...penstock.Call) bool { return slices.Contains(calls, h.s.now) }
func (h host) converses() bool                    { return h.during("penstock_template", penstock.CallRewrite) }

func (h host) Config(p unsafe.Pointer, limit int32) int32 {
	config := cmp.Or(h.s.Config, "{}")
	var object map[string]any
	if json.Unmarshal([]byte(config), &object) == nil && fill(object, h.s.declared.Schema) {
		text, _ := json.Marshal(object) // it was JSON
		config = string(text)
	}
	return giveIf(!h.during("penstock_warm"), config, p, limit)
}

// fill fills in what a schema's properties have a default for, and reports whether there was any.
func fill(object, schema map[string]any) (filled bool) {
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		of, _ := property.(map[string]any)
		value, has := of["default"]
		if _, given := object[name]; has && !given {
			object[name], filled = value, true
		}
		if inner, ok := object[name].(map[string]any); ok {
			filled = fill(inner, of) || filled
		}
	}
	return filled
}

func (h host) Messages(p unsafe.Pointer, limit int32) int32 {
	puts := guest.Rewrite != nil && guest.Filter != nil && !h.during("penstock_warm", "penstock_plan") // what it has replaced back
	return giveIf(h.converses() || puts, h.s.Messages, p, limit)
}

func (h host) Media(p unsafe.Pointer, limit int32) int32 {
	return giveIf(!h.during("penstock_warm"), cmp.Or(h.s.Media, "[]"), p, limit)
}

func (h host) Prompt(messages unsafe.Pointer, size int32, p unsafe.Pointer, limit int32) int32 {
	if h.converses() && h.s.PromptText != nil {
		if text, err := h.s.PromptText(cmp.Or(take(messages, size), h.s.Messages)); err == nil {
			return giveIf(true, text, p, limit)
		}
	}
	return -1
}

func (h host) Request(p unsafe.Pointer, limit int32) int32 {
	return giveIf(true, `{"model":`+cmp.Or(h.s.Model, "{}")+`,"sampling":`+cmp.Or(h.s.Sampling, "{}")+`}`, p, limit)
}

func (h host) History(from int32, p unsafe.Pointer, limit int32) int32 {
	return give(after(h.s.History, from), p, limit)
}

// after is a list from an index on; a negative one counts back from the end.
func after[T any](list []T, from int32) []T {
	if from < 0 {
		return list[max(0, len(list)+int(from)):]
	}
	return list[min(int(from), len(list)):]
}

// Text leaves out the beginning of a character at the end.
func (h host) Text(from int32, p unsafe.Pointer, limit int32) int32 {
	text := ""
	for _, t := range h.s.History[min(len(h.s.Prompt), len(h.s.History)):] {
		if h.known(int32(t)) {
			text += h.s.Pieces[t]
		}
	}
	for i := max(0, len(text)-utf8.UTFMax+1); i < len(text); i++ {
		if !utf8.FullRuneInString(text[i:]) {
			text = text[:i]
		}
	}
	return give(after([]byte(strings.ToValidUTF8(text, "\uFFFD")), from), p, limit)
}

func (h host) Feature(name unsafe.Pointer, size int32) int32 {
	if slices.Contains(abi.Features, take(name, size)) {
		return 1
	}
	return 0
}

func (h host) Param(kind int32) int64 {
	s := h.s
	values := []int64{
		abi.ParamPromptTokens: int64(len(s.Prompt)), abi.ParamMaxTokens: int64(s.MaxTokens), abi.ParamContextSize: int64(s.ContextSize),
		abi.ParamSeed: int64(s.Seed), abi.ParamTime: cmp.Or(s.Time, -1), abi.ParamChoice: int64(s.Choice), abi.ParamChoices: int64(max(1, s.Choices)),
	}
	if kind < 0 || int(kind) >= len(values) {
		return -1
	}
	return values[kind]
}

func (h host) Logprob() float32 {
	if !h.during(penstock.CallAccept) || h.s.again || h.s.Logprob == nil {
		return float32(math.NaN())
	}
	return *h.s.Logprob
}

func (h host) State(p unsafe.Pointer, limit int32) int32 {
	if !h.during(penstock.CallSample, penstock.CallAccept, penstock.CallStop) || h.s.again {
		return 0
	}
	return give(h.s.HiddenState, p, limit)
}

func (h host) Part() int32 {
	unknown := penstock.UnknownPart
	return int32(*cmp.Or(h.s.Part, &unknown))
}

// Elapsed is as much as the test says.
func (h host) Elapsed() int32 {
	if h.during("penstock_warm", "penstock_plan") {
		return -1
	}
	return int32(h.s.Elapsed)
}

// Fuel is never used up natively.
func (h host) Fuel() int64 { return abi.LimitHookFuel }

// Random draws as for the first plugin of a chain.
func (h host) Random() int64 {
	h.s.draws++
	return int64(abi.Draw(h.s.Seed, 0, uint64(h.s.position), h.s.draws-1))
}

func (h host) VocabSize() int32   { return int32(len(h.s.Pieces)) }
func (h host) known(t int32) bool { return t >= 0 && int(t) < len(h.s.Pieces) }

func (h host) Piece(t int32, p unsafe.Pointer, limit int32) int32 {
	if !h.known(t) {
		return -1
	}
	return give([]byte(h.s.Pieces[t]), p, limit)
}

func (h host) Vocab(p unsafe.Pointer, limit int32) int32 {
	b := make([]byte, 4)
	for at, t := uint32(0), 0; t < len(h.s.Pieces); t++ {
		at += uint32(len(h.s.Pieces[t]))
		b = binary.LittleEndian.AppendUint32(b, at)
	}
	return give(append(b, strings.Join(h.s.Pieces, "")...), p, limit)
}

func (h host) TokenAttr(t int32) int32 {
	if !h.known(t) {
		return -1
	}
	return int32(h.s.Attributes[penstock.Token(t)])
}

func (h host) Special(kind int32) int32 {
	if t, ok := h.s.Special[penstock.Special(kind)]; ok {
		return int32(t)
	}
	return -1
}

// Tokenize takes the longest piece that fits, again and again, in place of a model's tokenizer.
func (h host) Tokenize(text unsafe.Pointer, size, flags int32, p unsafe.Pointer, limit int32) int32 {
	if flags&^(abi.TokenizeAddSpecial|abi.TokenizeParseSpecial) != 0 || size > abi.LimitTokenizeBytes {
		return -1
	}
	words, spelled := penstock.ReadVocabulary(), 0
	tokens := words.Spell(take(text, size))
	for _, t := range tokens {
		spelled += len(words.Piece(t))
	}
	if spelled < int(size) {
		return -1
	}
	return give(tokens, p, limit)
}

// Bind does not look at sizes: the SDK makes the buffers.
func (h host) Bind(kind int32, p unsafe.Pointer, size int32) int32 {
	b := &h.s.buffers
	if !h.during("penstock_open") || kind < abi.BufferCandidates || int(kind) >= len(b) || b[kind] != nil || uintptr(p)%4 != 0 {
		return abi.BindRefused
	}
	b[kind] = unsafe.Slice((*byte)(p), size)
	return abi.BindOk
}

func (h host) Decline(p unsafe.Pointer, size int32) int32 {
	switch name := penstock.Call(take(p, size)); name {
	case penstock.CallRewrite, penstock.CallPrepare, penstock.CallSample, penstock.CallAccept, penstock.CallDraft, penstock.CallStop, penstock.CallFilter, penstock.CallRewind, penstock.CallClose:
		if h.during("penstock_open") {
			h.s.Declined = append(h.s.Declined, name)
			return abi.DeclineOk
		}
	}
	return abi.DeclineRefused
}

func (h host) Hold(n int32) int32 {
	if !h.during("penstock_open") || n < 0 || int(n) > h.s.declared.Hold {
		return abi.HoldRefused
	}
	h.s.hold = int(n)
	return abi.HoldOk
}

// Note does not count notes.
func (h host) Note(p unsafe.Pointer, size int32) int32 {
	if size > abi.LimitNoteBytes || !h.during(penstock.CallPrepare, penstock.CallSample, penstock.CallAccept) {
		return abi.NoteRefused
	}
	h.s.Notes = append(h.s.Notes, take(p, size))
	return abi.NoteOk
}

// Output does not count values.
func (h host) Output(p unsafe.Pointer, size int32) int32 {
	value := take(p, size)
	if !json.Valid([]byte(value)) || h.during("penstock_warm") || h.converses() {
		return abi.OutputRefused
	}
	if !h.s.again { // else the client has it
		h.s.Outputs = append(h.s.Outputs, value)
	}
	return abi.OutputOk
}

func (h host) Emit(p unsafe.Pointer, size int32) {
	h.s.emitted, h.s.emits = h.s.emitted+take(p, size), true
}

func (h host) Fail(p unsafe.Pointer, size int32)         { h.s.refusal = take(p, size) }
func (h host) Log(_ int32, p unsafe.Pointer, size int32) { h.s.Logs = append(h.s.Logs, take(p, size)) }
