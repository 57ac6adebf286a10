// SPDX-License-Identifier: MIT

package plugintest

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// host answers what the plugin of a session asks. plugins/abi/testdata/hostcalls.json has calls
// that the real host must answer in the same way. What it has no method for is answered by 0.
type host struct {
	abi.Absent
	s *Session
}

var _ abi.Host = host{}

// give writes a text if it fits.
func give(text string, to unsafe.Pointer, limit int32) int32 {
	if len(text) <= int(limit) {
		copy(unsafe.Slice((*byte)(to), limit), text)
	}
	return int32(len(text))
}

func giveTokens(tokens []penstock.Token, to unsafe.Pointer, limit int32) int32 {
	if len(tokens) <= int(limit) {
		copy(unsafe.Slice((*penstock.Token)(to), limit), tokens)
	}
	return int32(len(tokens))
}

func take(from unsafe.Pointer, size int32) string {
	return strings.Clone(unsafe.String((*byte)(from), size))
}

// Config implements abi.Host.
func (h host) Config(p unsafe.Pointer, limit int32) int32 {
	if !h.s.begun {
		return give("", p, limit)
	}
	return give(withDefaults(cmp.Or(h.s.Config, "{}"), string(h.s.manifest.Schema)), p, limit)
}

// Messages implements abi.Host.
func (h host) Messages(p unsafe.Pointer, limit int32) int32 {
	if !h.s.rendering {
		return give("", p, limit)
	}
	return give(h.s.Messages, p, limit)
}

// Media implements abi.Host.
func (h host) Media(p unsafe.Pointer, limit int32) int32 {
	if !h.s.begun {
		return give("[]", p, limit)
	}
	return give(cmp.Or(h.s.Media, "[]"), p, limit)
}

// History implements abi.Host.
func (h host) History(from int32, p unsafe.Pointer, limit int32) int32 {
	tokens := h.s.History
	return giveTokens(tokens[beginning(from, len(tokens)):], p, limit)
}

// Feature implements abi.Host.
func (h host) Feature(name unsafe.Pointer, size int32) int32 {
	if slices.Contains(abi.Features, take(name, size)) {
		return 1
	}
	return 0
}

// Param implements abi.Host.
func (h host) Param(kind int32) int64 {
	switch kind {
	case abi.ParamPromptTokens:
		return int64(len(h.s.Prompt))
	case abi.ParamMaxTokens:
		return int64(h.s.MaxTokens)
	case abi.ParamContextSize:
		return int64(h.s.ContextSize)
	case abi.ParamSeed:
		return int64(h.s.Seed)
	case abi.ParamTime:
		if h.s.Time == 0 {
			return -1
		}
		return h.s.Time
	case abi.ParamChoice:
		return int64(h.s.Choice)
	case abi.ParamChoices:
		return int64(max(1, h.s.Choices))
	}
	return -1
}

// Logprob implements abi.Host.
func (h host) Logprob() float32 {
	if !h.s.accepting || h.s.Logprob == nil {
		return float32(math.NaN())
	}
	return *h.s.Logprob
}

// State implements abi.Host.
func (h host) State(p unsafe.Pointer, limit int32) int32 {
	var state []float32
	if h.s.stateful {
		state = slices.Clone(h.s.HiddenState)
	}
	a := asked{Import: "state", Count: int32(len(state))}
	if len(state) <= int(limit) {
		copy(unsafe.Slice((*float32)(p), limit), state)
		a.State = state
	}
	h.s.asked = append(h.s.asked, a)
	return int32(len(state))
}

// Prompt implements abi.Host.
func (h host) Prompt(messages unsafe.Pointer, size int32, p unsafe.Pointer, limit int32) int32 {
	of := cmp.Or(take(messages, size), h.s.Messages)
	if !h.s.rendering || h.s.PromptText == nil {
		return -1
	}
	if last := &h.s.prompted; !last.made || last.of != of {
		text, err := h.s.PromptText(of)
		*last = prompted{made: true, of: of, text: text, refused: err != nil}
		a := asked{Import: "prompt", Text: newText(text)}
		if err != nil {
			a.Text, a.Error = nil, err.Error()
		}
		h.s.asked = append(h.s.asked, a)
	}
	if h.s.prompted.refused {
		return -1
	}
	return give(h.s.prompted.text, p, limit)
}

// prompted is what the template made of messages last.
type prompted struct {
	made     bool
	of, text string
	refused  bool
}

// Part implements abi.Host.
func (h host) Part() int32 {
	part := penstock.UnknownPart
	if h.s.Part != nil {
		part = *h.s.Part
	}
	h.s.asked = append(h.s.asked, asked{Import: "part", Count: int32(part)})
	return int32(part)
}

// Request implements abi.Host.
func (h host) Request(p unsafe.Pointer, limit int32) int32 {
	model, sampling := cmp.Or(h.s.Model, "{}"), cmp.Or(h.s.Sampling, "{}")
	return give(`{"model":`+model+`,"sampling":`+sampling+`}`, p, limit)
}

// Output implements abi.Host. It does not count values.
func (h host) Output(p unsafe.Pointer, size int32) int32 {
	value := take(p, size)
	if _, err := json.Parse([]byte(value)); err != nil || !h.s.begun || h.s.rendering {
		return abi.OutputRefused
	}
	if !h.s.replaying { // else the client has it
		h.s.Outputs = append(h.s.Outputs, value)
	}
	return abi.OutputOk
}

// Random implements abi.Host: as for the first plugin of a chain.
func (h host) Random() int64 {
	x := abi.Draw(h.s.Seed, 0, uint64(h.s.position), h.s.draws)
	h.s.draws++
	return int64(x)
}

// VocabSize implements abi.Host.
func (h host) VocabSize() int32 { return int32(len(h.s.Pieces)) }

func (h host) known(t int32) bool { return t >= 0 && int(t) < len(h.s.Pieces) }

// Piece implements abi.Host.
func (h host) Piece(t int32, p unsafe.Pointer, limit int32) int32 {
	if !h.known(t) {
		return -1
	}
	return give(h.s.Pieces[t], p, limit)
}

// Vocab implements abi.Host.
func (h host) Vocab(p unsafe.Pointer, limit int32) int32 {
	b := make([]byte, 4, 4*(len(h.s.Pieces)+1))
	at := uint32(0)
	for _, piece := range h.s.Pieces {
		at += uint32(len(piece))
		b = binary.LittleEndian.AppendUint32(b, at)
	}
	return give(string(b)+strings.Join(h.s.Pieces, ""), p, limit)
}

// TokenAttr implements abi.Host.
func (h host) TokenAttr(t int32) int32 {
	if !h.known(t) {
		return -1
	}
	return int32(h.s.Attributes[penstock.Token(t)])
}

// Special implements abi.Host.
func (h host) Special(kind int32) int32 {
	if t, ok := h.s.Special[penstock.Special(kind)]; ok {
		return int32(t)
	}
	return -1
}

// Tokenize implements abi.Host. In place of a model's tokenizer it takes the longest piece that
// fits, again and again.
func (h host) Tokenize(text unsafe.Pointer, size, flags int32, p unsafe.Pointer, limit int32) int32 {
	if flags&^(abi.TokenizeAddSpecial|abi.TokenizeParseSpecial) != 0 || size > abi.LimitTokenizeBytes {
		return -1
	}
	var tokens []penstock.Token
	for rest := take(text, size); rest != ""; {
		best, length := -1, 0
		for t, piece := range h.s.Pieces {
			if len(piece) > length && strings.HasPrefix(rest, piece) {
				best, length = t, len(piece)
			}
		}
		if best < 0 {
			return -1
		}
		tokens, rest = append(tokens, penstock.Token(best)), rest[length:]
	}
	return giveTokens(tokens, p, limit)
}

// Bind implements abi.Host. It does not look at sizes: the SDK makes the buffers.
func (h host) Bind(kind int32, p unsafe.Pointer, size int32) int32 {
	b := &h.s.buffers
	if !h.s.opening || kind < abi.BufferCandidates || kind > abi.BufferText || b[kind] != nil || uintptr(p)%4 != 0 {
		return abi.BindRefused
	}
	b[kind] = unsafe.Slice((*byte)(p), size)
	return abi.BindOk
}

// Decline implements abi.Host. A method whose export is declined is as if it were not there.
func (h host) Decline(p unsafe.Pointer, size int32) int32 {
	if !h.s.opening {
		return abi.DeclineRefused
	}
	name, had := take(p, size), false
	switch penstock.Call(name) {
	case penstock.CallRewrite:
		had, guest.Rewrite = guest.Rewrite != nil, nil
	case penstock.CallPrepare:
		had, guest.Prepare = guest.Prepare != nil, nil
	case penstock.CallSample:
		had, guest.Sample = guest.Sample != nil, nil
	case penstock.CallAccept:
		had, guest.Accept = guest.Accept != nil, nil
	case penstock.CallDraft:
		had, guest.Draft = guest.Draft != nil, nil
	case penstock.CallStop:
		had, guest.Stop = guest.Stop != nil, nil
	case penstock.CallRewind:
		had, guest.Rewind = guest.Rewind != nil, nil
	case penstock.CallClose:
		had, guest.Close = guest.Close != nil, nil
	default:
		return abi.DeclineRefused
	}
	if had { // what it does not have is no news
		h.s.declined = append(h.s.declined, name)
	}
	return abi.DeclineOk
}

// Note implements abi.Host.
func (h host) Note(p unsafe.Pointer, size int32) int32 {
	if h.s.opening || size > abi.LimitNoteBytes {
		return abi.NoteRefused
	}
	h.s.Notes = append(h.s.Notes, take(p, size))
	return abi.NoteOk
}

// Hold implements abi.Host.
func (h host) Hold(n int32) int32 {
	if !h.s.opening || n < 0 || int(n) > h.s.manifest.Hold {
		return abi.HoldRefused
	}
	h.s.hold = int(n)
	return abi.HoldOk
}

// Emit implements abi.Host.
func (h host) Emit(p unsafe.Pointer, size int32) { h.s.emitted += take(p, size) }

// Fail implements abi.Host.
func (h host) Fail(p unsafe.Pointer, size int32) { h.s.refusal = take(p, size) }

// Log implements abi.Host.
func (h host) Log(_ int32, p unsafe.Pointer, size int32) { h.s.Logs = append(h.s.Logs, take(p, size)) }

// GrammarOpen implements abi.Host: as a host without a grammar engine.
func (h host) GrammarOpen(kind int32, p unsafe.Pointer, size int32) int32 {
	h.s.asked = append(h.s.asked, asked{Import: "grammar_open", Kind: kind, Text: newText(take(p, size)), Error: noGrammars})
	return -1
}

// noGrammars is why no grammar is opened here.
const noGrammars = "this host has no grammar engine"

// GrammarReason implements abi.Host.
func (h host) GrammarReason(p unsafe.Pointer, limit int32) int32 {
	if !slices.ContainsFunc(h.s.asked, func(a asked) bool { return a.Import == "grammar_open" }) {
		return give("", p, limit)
	}
	return give(noGrammars, p, limit)
}

// GrammarMaskWithin implements abi.Host.
func (h host) GrammarMaskWithin(int32, int32) int32 { return abi.WithinRefused }

// GrammarRest implements abi.Host.
func (h host) GrammarRest(int32) int32 { return abi.RestUnknown }

// GrammarMask implements abi.Host.
func (h host) GrammarMask(int32) int32 { return -1 }

// GrammarAccept implements abi.Host.
func (h host) GrammarAccept(int32, int32) int32 { return -1 }
