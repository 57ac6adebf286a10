// SPDX-License-Identifier: MIT

package guest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/answer"
)

// requestFunctions are the imports about the request.
var requestFunctions = map[string]hostFunction{
	abi.ImportConfig:   func(i *Instance, c *call) uint64 { return c.write(i, 1, i.session.config) },
	abi.ImportMessages: func(i *Instance, c *call) uint64 { return c.write(i, 1, i.session.Messages) },
	abi.ImportPrompt:   hostPrompt,
	abi.ImportHistory:  hostHistory,
	abi.ImportMedia:    hostMedia,
	abi.ImportText:     hostText,
	abi.ImportFeature:  hostFeature,
	abi.ImportParam:    hostParam,
	abi.ImportLogprob:  hostLogprob,
	abi.ImportState:    hostState,
	abi.ImportPart:     hostPart,
	abi.ImportRequest:  hostRequest,
	abi.ImportElapsed:  hostElapsed,
	abi.ImportFuel:     func(i *Instance, _ *call) uint64 { return uint64(i.meter.Left()) },
	abi.ImportRandom:   func(i *Instance, _ *call) uint64 { return i.session.random.next() },
}

func hostHistory(i *Instance, c *call) uint64 {
	all := i.session.History
	return c.write(i, 4, bytesOf(all[startIndex(c.i32(0), len(all)):]))
}

func hostMedia(i *Instance, c *call) uint64 {
	told := []byte("[]")
	if r := i.session.request; r != nil && len(r.Media) > 0 {
		told = r.Media
	}
	return c.write(i, 1, told)
}

func hostFeature(_ *Instance, c *call) uint64 {
	if name := c.in[0]; len(name) <= abi.LimitFeatureBytes && slices.Contains(abi.Features, string(name)) {
		return 1
	}
	return 0
}

func hostParam(i *Instance, c *call) uint64 {
	kind := c.u32(0)
	if int(kind) >= len(i.session.Params) {
		return ^uint64(0)
	}
	return uint64(i.session.Params[kind])
}

func hostElapsed(i *Instance, _ *call) uint64 {
	r := i.session.request
	if r == nil || r.Time.IsZero() || i.running == Plan {
		return i32(-1)
	}
	return i32(int32(min(max(i.started.Sub(r.Time).Milliseconds(), 0), math.MaxInt32)))
}

func hostRequest(i *Instance, c *call) uint64 {
	sampling := []byte("{}")
	if r := i.session.request; r != nil && r.Sampling != nil {
		sampling = r.Sampling()
	}
	return c.write(i, 1, slices.Concat([]byte(`{"model":`), i.module.Env.model, []byte(`,"sampling":`), sampling, []byte("}")))
}

// answerText caches the text of an answer's tokens from call to call. Comparing tokens finds those
// that were taken back.
type answerText struct {
	tokens []int32
	marks  []mark // after each token
	bytes  []byte
}

// mark is where a token's text ends, and the part of a character that is left for the next token.
type mark struct {
	end     int
	partial string
}

// update returns the text of an answer of these tokens, converting only what changed.
func (a *answerText) update(tokens []int32, v plugin.Vocabulary) []byte {
	same := 0
	for same < min(len(tokens), len(a.tokens)) && tokens[same] == a.tokens[same] {
		same++
	}
	a.tokens, a.marks = a.tokens[:same], a.marks[:same]
	var last mark
	if same > 0 {
		last = a.marks[same-1]
	}
	var characters answer.Characters
	characters.SetPartial(last.partial)
	a.bytes = a.bytes[:last.end]
	for _, t := range tokens[same:] {
		a.bytes = append(a.bytes, characters.Add(v.Piece(t))...)
		a.tokens, a.marks = append(a.tokens, t), append(a.marks, mark{len(a.bytes), characters.Partial()})
	}
	return a.bytes
}

// tokensPerFuel is how many tokens of an answer a unit of fuel pays for.
const tokensPerFuel = 4

func hostText(i *Instance, c *call) uint64 {
	tokens := i.session.answerTokens()
	i.charge(uint64(len(tokens) / tokensPerFuel))
	text := i.session.text.update(tokens, i.module.Env.Vocabulary)
	return c.write(i, 1, text[startIndex(c.i32(0), len(text)):])
}

// answerTokens is the history without the prompt.
func (s *Session) answerTokens() []int32 {
	return s.History[min(int(s.Params[abi.ParamPromptTokens]), len(s.History)):]
}

// startIndex clamps an index into a list of n. A negative one counts back from the end.
func startIndex(from int32, n int) int {
	at := int(from)
	if at < 0 {
		at = max(0, n+at)
	}
	return min(at, n)
}

// partByteFuel is what taking the answer apart costs for each byte of its text.
const partByteFuel = 16

// answerParts finds the part that an answer's text ends in. It begins when a guest first asks.
type answerParts struct {
	teller plugin.Parts
	begun  bool
	text   string   // the text of the last question
	part   abi.Part // its answer
}

func hostPart(i *Instance, _ *call) uint64 {
	tokens := i.session.answerTokens()
	text := i.session.text.update(tokens, i.module.Env.Vocabulary)
	i.charge(uint64(len(tokens)/tokensPerFuel) + partByteFuel*uint64(len(text)))
	return i32(int32(i.session.partOf(text)))
}

// partOf returns the part that a text ends in.
func (s *Session) partOf(text []byte) abi.Part {
	p := &s.parts
	if !p.begun {
		p.begun, p.part = true, abi.PartUnknown
		if s.request != nil && s.request.Parts != nil {
			if teller, err := s.request.Parts(); err == nil {
				p.teller, p.part, p.text = teller, teller.Part(""), ""
			}
		}
	}
	if p.teller != nil && string(text) != p.text {
		p.text = string(text)
		p.part = p.teller.Part(p.text)
	}
	return p.part
}

// Close frees what was opened for the session.
func (s *Session) Close() {
	if s.parts.teller != nil {
		s.parts.teller.Close()
		s.parts.teller = nil
	}
}

// promptText caches the last text that the model's template made of messages.
type promptText struct {
	of   []byte
	text string
	err  error
}

var errNoPrompt = errors.New("there is no conversation here, or no template")

// hostPrompt gives the text that the model's own template makes of messages.
func hostPrompt(i *Instance, c *call) uint64 {
	messages := c.in[0]
	if len(messages) == 0 {
		messages = i.session.Messages
		i.charge(textFuel * uint64(len(messages)))
	}
	text, err := i.promptText(messages)
	if c.err = err; err != nil {
		i.session.log.add(abi.LogWarn, []byte("no prompt: "+err.Error()))
		return i32(-1)
	}
	return c.text(i, text)
}

func (i *Instance) promptText(messages []byte) (string, error) {
	last := &i.session.promptText
	i.call.unseen = true // the model's template is not asked
	switch {
	case i.running != Messages && i.running != Template || i.session.request == nil || i.session.request.PromptText == nil:
		return "", errNoPrompt
	case len(messages) > abi.LimitBranchMessagesBytes:
		return "", fmt.Errorf("the messages have %d bytes, at most %d are taken", len(messages), abi.LimitBranchMessagesBytes)
	case last.of != nil && bytes.Equal(last.of, messages):
		return last.text, last.err
	}
	i.call.unseen = false
	last.of = bytes.Clone(messages)
	i.runAside(func(ctx context.Context) { last.text, last.err = i.session.request.PromptText(ctx, last.of) })
	return last.text, last.err
}

// hostState gives the hidden state that the session has for the present token.
func hostState(i *Instance, c *call) uint64 {
	switch i.running {
	case Sample, Accept, Stop:
		return c.write(i, 4, bytesOf(i.session.HiddenState))
	}
	return c.write(i, 4, nil)
}

func hostLogprob(i *Instance, _ *call) uint64 {
	l := unknown
	if i.running == Accept {
		l = i.session.Logprob
	}
	return uint64(math.Float32bits(l))
}

// vocabularyFunctions are the imports about the vocabulary.
var vocabularyFunctions = map[string]hostFunction{
	abi.ImportVocabSize: func(i *Instance, _ *call) uint64 { return uint64(i.module.Env.Vocabulary.Size()) },
	abi.ImportPiece:     hostPiece,
	abi.ImportVocab:     func(i *Instance, c *call) uint64 { return c.write(i, 1, i.module.Env.vocab()) },
	abi.ImportTokenAttr: hostTokenAttr,
	abi.ImportSpecial:   func(i *Instance, c *call) uint64 { return i32(i.module.Env.Vocabulary.Special(c.i32(0))) },
	abi.ImportTokenize:  hostTokenize,
}

// isToken reports whether a parameter is a token.
func (i *Instance) isToken(token int32) bool {
	return uint64(uint32(token)) < uint64(i.module.Env.Vocabulary.Size())
}

func hostPiece(i *Instance, c *call) uint64 {
	if !i.isToken(c.i32(0)) {
		return i32(-1)
	}
	return c.text(i, i.module.Env.Vocabulary.Piece(c.i32(0)))
}

func hostTokenAttr(i *Instance, c *call) uint64 {
	if !i.isToken(c.i32(0)) {
		return i32(-1)
	}
	return uint64(i.module.Env.Vocabulary.Attributes(c.i32(0)))
}

func hostTokenize(i *Instance, c *call) uint64 {
	const known = abi.TokenizeAddSpecial | abi.TokenizeParseSpecial
	text, flags := c.in[0], c.u32(2)
	if flags&^uint32(known) != 0 || len(text) > abi.LimitTokenizeBytes {
		return i32(-1)
	}
	tokens, err := i.module.Env.Vocabulary.Tokenize(cleanText(text), flags&abi.TokenizeAddSpecial != 0, flags&abi.TokenizeParseSpecial != 0)
	if c.err = err; err != nil {
		i.session.log.add(abi.LogWarn, []byte("tokenize: "+err.Error()))
		return i32(-1)
	}
	return c.write(i, 4, bytesOf(tokens))
}

// cleanText copies text out of guest memory, with invalid UTF-8 replaced.
func cleanText(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// buildVocab builds what vocab gives: offsets, then the bytes of all pieces.
func (e *Environment) buildVocab() []byte {
	n := e.Vocabulary.Size()
	table := make([]byte, 4*(n+1))
	var text []byte
	for t := range n {
		text = append(text, e.Vocabulary.Piece(int32(t))...)
		binary.LittleEndian.PutUint32(table[4*(t+1):], uint32(len(text)))
	}
	return append(table, text...)
}

// resultFunctions are the imports that hand something to the host.
var resultFunctions = map[string]hostFunction{
	abi.ImportOutput:  hostOutput,
	abi.ImportNote:    hostNote,
	abi.ImportBind:    hostBind,
	abi.ImportDecline: hostDecline,
	abi.ImportHold:    hostHold,
	abi.ImportEmit:    hostEmit,
	abi.ImportFail:    hostFail,
	abi.ImportLog:     hostLog,
}

func hostOutput(i *Instance, c *call) uint64 {
	return c.take(i, i.output, abi.OutputOk, abi.OutputRefused)
}

func hostNote(i *Instance, c *call) uint64 { return c.take(i, i.note, abi.NoteOk, abi.NoteRefused) }

// take has a value taken, and answers whether it was. Why it was refused is logged.
func (c *call) take(i *Instance, taken func([]byte) error, ok, refused int32) uint64 {
	c.unseen = i.session.Replaying
	if err := taken(c.in[0]); err != nil {
		i.session.log.add(abi.LogWarn, []byte(err.Error()))
		return i32(refused)
	}
	return i32(ok)
}

func hostBind(i *Instance, c *call) uint64 {
	if i.running == Open && i.Buffers.bind(c.u32(0), c.u32(1), c.u32(2), i.region.Bytes(), i.module.Env.Vocabulary.Size()) {
		return i32(abi.BindOk)
	}
	return i32(abi.BindRefused)
}

func hostDecline(i *Instance, c *call) uint64 {
	if err := i.decline(string(c.in[0][:min(len(c.in[0]), maxExport+1)])); err != nil {
		i.session.log.add(abi.LogWarn, []byte(err.Error()))
		return i32(abi.DeclineRefused)
	}
	return i32(abi.DeclineOk)
}

// maxExport is longer than the name of any export.
const maxExport = 64

// decline makes the host stop calling an export.
func (i *Instance) decline(name string) error {
	e := slices.Index(exportNames[:], name)
	switch {
	case i.running != Open:
		return fmt.Errorf("decline belongs to %s", abi.ExportOpen)
	case e < 0 || !abi.Has(abi.Exports, name):
		return fmt.Errorf("decline: there is no export %q", name)
	case Export(e) <= Open || Export(e) == Template || Export(e) == Run:
		return fmt.Errorf("decline: a request cannot do without %s", name)
	}
	i.declined[e] = true
	return nil
}

func hostHold(i *Instance, c *call) uint64 {
	n, most := c.i32(0), i.module.Hold
	switch {
	case i.running != Open:
		i.session.log.add(abi.LogWarn, []byte("hold belongs to "+abi.ExportOpen))
	case n < 0 || int(n) > most:
		i.session.log.add(abi.LogWarn, fmt.Appendf(nil, "hold: %d tokens; the manifest's hold, %d, is the most", n, most))
	default:
		i.hold = int(n)
		return i32(abi.HoldOk)
	}
	return i32(abi.HoldRefused)
}

func hostEmit(i *Instance, c *call) uint64 {
	limit := i.module.Env.Limits.Emit
	switch i.running {
	case Plan:
		limit = i.module.Env.Limits.PlanText
	case Filter:
		limit = i.module.Env.Limits.Filtered
	}
	if len(i.emitted)+len(c.in[0]) > limit {
		panic(Violationf(plugin.CauseLimit, "more than %d bytes emitted", limit))
	}
	i.emitted, i.emits = append(i.emitted, c.in[0]...), true
	return 0
}

func hostFail(i *Instance, c *call) uint64 {
	text := c.in[0]
	if most := i.module.Env.Limits.Fail; len(text) > most {
		text = dropCutCharacter(text[:most])
	}
	i.refusal = append(i.refusal[:0], text...)
	return 0
}

func hostLog(i *Instance, c *call) uint64 {
	i.session.log.add(c.i32(0), c.in[0])
	i.noteLine(c.in[0])
	return 0
}
