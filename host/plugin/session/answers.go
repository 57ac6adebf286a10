// SPDX-License-Identifier: MIT

package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/gbnf"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// answers takes the place of a model: it has a file's vocabulary and what the host answered. It
// serves one guest at a time.
type answers struct {
	*Vocabulary
	bits      []uint32 // attributes by token
	tokenized map[question]*Deed

	sampling []byte
	modelled bool      // the session has a model, which answers programs
	program  *prompter // answers programs from the recording; nil: none runs
	call     *Call     // the call that is made
	queue    []Deed    // its deeds that are still to come
	state    *Deed     // the last hidden state that the guest got
	elapsed  int32     // the last time that the guest got
	open     int32     // open grammars
	refused  string    // why the last grammar was not opened
	problem  string    // the first question without an answer
}

type question struct {
	text  string
	flags uint32
}

func newAnswers(f *File) *answers {
	a := &answers{Vocabulary: &f.Vocabulary, bits: make([]uint32, len(f.Vocabulary.Pieces)), tokenized: map[question]*Deed{}}
	for name, tokens := range f.Vocabulary.Attributes {
		for _, t := range tokens {
			a.bits[t] |= attributes[name]
		}
	}
	for i := range f.Sessions {
		s := &f.Sessions[i]
		a.learnTokens(s.Warm)
		a.learnTokens(s.Plan)
		for j := range s.Calls {
			a.learnTokens(s.Calls[j].Deeds)
		}
	}
	return a
}

// learnTokens keeps the tokens of texts. A model tokenizes a text always in the same way.
func (a *answers) learnTokens(list []Deed) {
	for i := range list {
		if d := &list[i]; d.Do == abi.ImportTokenize && len(d.Args) > 1 && !d.Failed {
			a.tokenized[question{cleanText(textOf(d.Text)), uint32(d.Args[1])}] = d
		}
	}
}

// expect prepares the answers of the next call.
func (a *answers) expect(c *Call) {
	a.call, a.queue, a.state, a.problem = c, a.queue[:0], nil, ""
	for _, d := range c.Deeds {
		switch {
		case d.Do == abi.ImportTokenize || d.Do == abi.ImportNote || d.isProgram():
		case d.Do == abi.ImportRequest && !d.Failed:
			a.sampling = []byte(sampling(textOf(d.got().Text)))
		default:
			a.queue = append(a.queue, d)
		}
	}
}

// answer implements plugin.Replay. Host functions about the vocabulary, the model's template and
// the request's parameters answer by themselves.
func (a *answers) answer(g *plugin.Deed) (bool, error) {
	asked := len(a.queue) > 0 && a.queue[0].matches(g)
	switch {
	case asked && a.queue[0].Failed: // also of a function that answers by itself
		return true, a.replayNext(g)
	case abi.Import(g.Import).Record == abi.RecordWhole || g.Import == abi.ImportOutput:
		return false, nil
	case a.modelled && (isProgram(g.Import) || strings.HasPrefix(g.Import, "grammar_")):
		return false, nil
	case isProgram(g.Import):
		return true, a.program.answerDeed(g)
	case g.Import == abi.ImportState:
		return a.replayState(g)
	case asked:
		err := a.replayNext(g)
		if g.Import == abi.ImportElapsed {
			a.elapsed = g.Answer
		}
		return true, err
	case g.Import == abi.ImportElapsed: // no time passes where the session does not tell
		g.Answer = a.elapsed
		return true, nil
	case g.Import == abi.ImportGrammarReason:
		g.Gave.Text, g.Answer = a.refused, int32(len(a.refused))
		return true, nil
	case a.canAnswer(g):
		came := "it does not"
		if len(a.queue) > 0 {
			came = "it asks for " + describeQuestion(a.queue[0].Do, a.queue[0].Args, textOf(a.queue[0].Text))
		}
		_ = a.reportUnanswered("it asks for %s; in the session %s", describeQuestion(g.Import, g.Args, g.Text), came)
	}
	return false, nil
}

// replayState answers with the call's hidden state, however often the guest asks. It returns false
// if the session has none.
func (a *answers) replayState(g *plugin.Deed) (bool, error) {
	if at := slices.IndexFunc(a.queue, func(d Deed) bool { return d.Do == abi.ImportState }); at >= 0 {
		d := a.queue[at]
		a.state, a.queue = &d, slices.Delete(a.queue, at, at+1)
	}
	switch {
	case a.state == nil:
		return false, nil
	case a.state.Failed:
		return true, replayFault(a.call)
	}
	a.state.replayTo(g, len(a.Pieces))
	return true, nil
}

// replayNext answers with the next deed.
func (a *answers) replayNext(g *plugin.Deed) error {
	d := a.queue[0]
	if a.queue = a.queue[1:]; d.Failed {
		return replayFault(a.call)
	}
	if d.Do == abi.ImportGrammarOpen && d.Answer == unknown {
		d.Answer = a.open
	}
	d.replayTo(g, len(a.Pieces))
	if d.Do == abi.ImportGrammarOpen {
		if a.refused = d.Error; d.Answer >= 0 {
			a.open = max(a.open, d.Answer+1)
		}
	}
	return nil
}

// matches reports whether a guest makes the recorded call again. How much room it has for the
// result does not matter.
func (d *Deed) matches(g *plugin.Deed) bool {
	if d.Do != g.Import || cleanText(textOf(d.Text)) != cleanText(g.Text) { // earlier files have it cleaned
		return false
	}
	s := abi.Import(d.Do)
	at := 0
	for param := range s.Params {
		of := func(m abi.Memory) bool { return m.At == param }
		if slices.ContainsFunc(s.Memory, of) {
			continue
		}
		counts := slices.ContainsFunc(s.Memory, func(m abi.Memory) bool { return m.N == param })
		if !counts && (at >= len(d.Args) || at >= len(g.Args) || d.Args[at] != g.Args[at] && d.Args[at] != unknown) {
			return false
		}
		at++
	}
	return true
}

// canAnswer reports whether a host function could not refuse the question by itself: the grammar is
// open, and the token known. The hidden state is empty where a session has none.
func (a *answers) canAnswer(g *plugin.Deed) bool {
	isOpen := len(g.Args) > 0 && g.Args[0] >= 0 && g.Args[0] < a.open
	switch g.Import {
	case abi.ImportGrammarOpen:
		return g.Args[0] == abi.GrammarGBNF || g.Args[0] == abi.GrammarJSONSchema
	case abi.ImportGrammarAccept:
		return isOpen && g.Args[1] >= 0 && int(g.Args[1]) < len(a.Pieces)
	case abi.ImportGrammarMask, abi.ImportGrammarMaskWithin, abi.ImportGrammarRest:
		return isOpen
	}
	return false
}

// describeQuestion names what a guest asks for.
func describeQuestion(do string, args []int32, text string) string {
	if do == abi.ImportGrammarOpen {
		return fmt.Sprintf("the grammar %.60q", text)
	}
	return do + "(" + strings.Trim(strings.ReplaceAll(fmt.Sprint(args), " ", ", "), "[]") + ")"
}

// Size implements plugin.Vocabulary.
func (a *answers) Size() int { return len(a.Pieces) }

// Piece implements plugin.Vocabulary.
func (a *answers) Piece(t Token) string { return string(a.Pieces[t]) }

// Attributes implements plugin.Vocabulary.
func (a *answers) Attributes(t Token) uint32 { return a.bits[t] }

// Special implements plugin.Vocabulary.
func (a *answers) Special(kind int32) Token {
	for name, t := range a.Vocabulary.Special {
		if specials[name] == kind {
			return t
		}
	}
	return -1
}

// Tokenize implements plugin.Vocabulary.
func (a *answers) Tokenize(text string, addSpecial, parseSpecial bool) ([]Token, error) {
	q := question{text: text}
	if addSpecial {
		q.flags |= abi.TokenizeAddSpecial
	}
	if parseSpecial {
		q.flags |= abi.TokenizeParseSpecial
	}
	switch known := a.tokenized[q]; {
	case known != nil && known.Error != "":
		return nil, errors.New(known.Error)
	case known != nil:
		return known.got().Tokens, nil
	case a.LongestPiece:
		return a.longestPieces(text)
	}
	return nil, a.reportUnanswered("it has %.60q tokenized with flags %d, which the session does not tell", text, q.flags)
}

// longestPieces tokenizes a text greedily in place of a model's tokenizer: the longest piece that
// fits, again and again.
func (v *Vocabulary) longestPieces(text string) ([]Token, error) {
	var tokens []Token
	for rest := text; rest != ""; {
		best, length := Token(-1), 0
		for t, piece := range v.Pieces {
			if len(piece) > length && strings.HasPrefix(rest, string(piece)) {
				best, length = Token(t), len(piece)
			}
		}
		if best < 0 {
			return nil, fmt.Errorf("no piece begins %.20q", rest)
		}
		tokens, rest = append(tokens, best), rest[length:]
	}
	return tokens, nil
}

// reportUnanswered keeps the first question that the session has no answer to.
func (a *answers) reportUnanswered(format string, args ...any) error {
	if a.problem == "" {
		a.problem = fmt.Sprintf(format, args...)
	}
	return errors.New(a.problem)
}

// promptText answers with the recorded text that the model's template made of messages.
func (a *answers) promptText(context.Context, []byte) (string, error) {
	if len(a.queue) == 0 || a.queue[0].Do != abi.ImportPrompt {
		return "", a.reportUnanswered("it asks for the prompt's text; in the session it does not")
	}
	d := a.queue[0]
	if a.queue = a.queue[1:]; d.Error != "" {
		return "", errors.New(d.Error)
	}
	return textOf(d.got().Text), nil
}

// Part implements plugin.Parts. The session does not tell the part.
func (a *answers) Part(text string) abi.Part {
	if text != "" {
		_ = a.reportUnanswered("it asks for the part of the answer; in the session it does not")
	}
	return abi.PartUnknown
}

// Close implements plugin.Parts.
func (a *answers) Close() {}

// cleanText replaces invalid UTF-8 by U+FFFD, as the host does with a guest's text.
func cleanText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// grammars is a host's grammar engine over a vocabulary, as host/engine has it over a model's.
type grammars struct {
	tokens func() *grammar.Vocabulary
}

// NewGrammars makes a grammar engine for a vocabulary, for tests and cases on made-up models.
func NewGrammars(v plugin.Vocabulary) plugin.Grammars {
	return grammars{sync.OnceValue(func() *grammar.Vocabulary {
		pieces, ends := make([][]byte, v.Size()), []int32(nil)
		for t := range pieces {
			pieces[t] = []byte(v.Piece(int32(t)))
			if v.Attributes(int32(t))&abi.AttrEnd != 0 {
				ends = append(ends, int32(t))
			}
		}
		return grammar.NewVocabulary(pieces, ends, nil)
	})}
}

// Open implements plugin.Grammars.
func (s grammars) Open(_ context.Context, _ string, kind int32, text string) (plugin.Grammar, uint64, error) {
	b := grammar.NewBuilder()
	var g *grammar.Grammar
	var err error
	if kind == abi.GrammarJSONSchema {
		var root grammar.Rule
		if root, _, err = schema.Read(b, json.RawMessage(text), schema.Options{}); err == nil {
			g, err = b.Build(root)
		}
	} else if g, err = gbnf.Parse(b, text, "", gbnf.Tokens{}); err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), gbnf.ErrInvalid.Error()+": "))
	}
	if err != nil {
		return nil, 0, err
	}
	return opened{g.Begin(s.tokens())}, 0, nil
}

// opened is a grammar that a plugin opened.
type opened struct{ *grammar.Cursor }

// Close implements plugin.Grammar.
func (opened) Close() error { return nil }
