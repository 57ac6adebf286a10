// SPDX-License-Identifier: MIT

package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/program"
)

// answers are a file's vocabulary and what the host answered, in place of a model. They are for
// one guest at a time.
type answers struct {
	*Vocabulary
	bits      []uint32 // attributes by token
	tokenized map[question]*Asked

	sampling []byte
	queue    []Asked // of the call that is made: what is still to be asked about grammars
	open     int     // grammars
	problem  string  // what was asked that has no answer
}

type question struct {
	text  string
	flags uint32
}

func newAnswers(f *File) *answers {
	a := &answers{Vocabulary: &f.Vocabulary, bits: make([]uint32, len(f.Vocabulary.Pieces)), tokenized: map[question]*Asked{}}
	for name, tokens := range f.Vocabulary.Attributes {
		for _, t := range tokens {
			a.bits[t] |= attributes[name]
		}
	}
	for i := range f.Sessions {
		s := &f.Sessions[i]
		a.learn(s.Warm)
		for j := range s.Calls {
			a.learn(s.Calls[j].Asked)
		}
	}
	return a
}

// learn keeps what texts became. A model always makes the same of a text.
func (a *answers) learn(list []Asked) {
	for i := range list {
		if q := &list[i]; q.Import == abi.ImportTokenize {
			a.tokenized[question{string(*q.Text), q.Flags}] = q
		}
	}
}

// expect has the next call's answers ready.
func (a *answers) expect(list []Asked) {
	a.queue, a.problem = a.queue[:0], ""
	for _, q := range list {
		switch q.Import {
		case abi.ImportTokenize, abi.ImportState: // the player tells it before the call
		case abi.ImportRequest:
			a.sampling = q.Sampling
		default:
			a.queue = append(a.queue, q)
		}
	}
}

// Size implements plugin.Vocabulary.
func (a *answers) Size() int { return len(a.Pieces) }

// Piece implements plugin.Vocabulary.
func (a *answers) Piece(t Token) string { return string(a.Pieces[t]) }

// Attributes implements plugin.Vocabulary.
func (a *answers) Attributes(t Token) uint32 { return a.bits[t] }

// Special implements plugin.Vocabulary.
func (a *answers) Special(kind int32) Token {
	for name, k := range specials {
		if t, ok := a.Vocabulary.Special[name]; ok && k == kind {
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
	known, ok := a.tokenized[q]
	switch {
	case ok && known.Error != "":
		return nil, errors.New(known.Error)
	case ok:
		return known.Tokens, nil
	case a.LongestPiece:
		return a.longestPieces(text)
	}
	return nil, a.unanswered("it has %.60q tokenized with flags %d, which the session does not tell", text, q.flags)
}

// unanswered notes a question that the session has no answer to.
func (a *answers) unanswered(format string, args ...any) error {
	if a.problem == "" {
		a.problem = fmt.Sprintf(format, args...)
	}
	return errors.New(a.problem)
}

// next takes the next answer about grammars, if it is the one to a question.
func (a *answers) next(asked string, fits func(*Asked) bool) (*Asked, error) {
	if len(a.queue) == 0 {
		return nil, a.unanswered("it asks for %s; in the session it does not", asked)
	}
	q := a.queue[0]
	if !fits(&q) {
		return nil, a.unanswered("it asks for %s; in the session it asks for %s of handle %d", asked, q.Import, q.Handle)
	}
	a.queue = a.queue[1:]
	if q.Error != "" {
		return &q, errors.New(q.Error)
	}
	return &q, nil
}

// Open implements plugin.Grammars.
func (a *answers) Open(_ context.Context, _ string, kind int32, text string) (plugin.Grammar, uint64, error) {
	_, err := a.next(fmt.Sprintf("the grammar %.60q", text), func(q *Asked) bool {
		return q.Import == abi.ImportGrammarOpen && q.Kind == kind && string(*q.Text) == text
	})
	if err != nil {
		return nil, 0, err
	}
	a.open++
	return &replayedGrammar{a, a.open - 1}, 0, nil
}

// replayedGrammar answers as a grammar did.
type replayedGrammar struct {
	from   *answers
	handle int
}

// Mask implements plugin.Grammar.
func (g *replayedGrammar) Mask(mask []uint32) error {
	q, err := g.from.next(fmt.Sprintf("the mask of grammar %d", g.handle), func(q *Asked) bool {
		return q.Import == abi.ImportGrammarMask && q.Handle == g.handle
	})
	if err == nil {
		copy(mask, q.Mask.Words(len(g.from.Pieces)))
	}
	return err
}

// MaskWithin implements plugin.Grammar.
func (g *replayedGrammar) MaskWithin(tokens int, mask []uint32) (bool, error) {
	q, err := g.from.next(fmt.Sprintf("the mask of grammar %d within %d tokens", g.handle, tokens), func(q *Asked) bool {
		return q.Import == abi.ImportGrammarMaskWithin && q.Handle == g.handle && int(q.Count) == tokens
	})
	if err != nil {
		return false, err
	}
	copy(mask, q.Mask.Words(len(g.from.Pieces)))
	return q.OK, nil
}

// Rest implements plugin.Grammar.
func (g *replayedGrammar) Rest() (tokens int, ended bool, err error) {
	q, err := g.from.next(fmt.Sprintf("the rest of grammar %d", g.handle), func(q *Asked) bool {
		return q.Import == abi.ImportGrammarRest && q.Handle == g.handle
	})
	if err != nil {
		return 0, false, err
	}
	return int(q.Count), q.OK, nil
}

// Accept implements plugin.Grammar.
func (g *replayedGrammar) Accept(token Token) bool {
	q, err := g.from.next(fmt.Sprintf("grammar %d to accept token %d", g.handle, token), func(q *Asked) bool {
		return q.Import == abi.ImportGrammarAccept && q.Handle == g.handle && q.Token == token
	})
	return err == nil && q.OK
}

// Beginning implements plugin.Grammar: a recorded program asks for what its branches were, not for
// grammars.
func (*replayedGrammar) Beginning() program.GrammarState { return nil }

// Close implements plugin.Grammar.
func (g *replayedGrammar) Close() error {
	g.from.open--
	return nil
}

// promptText is what the model's template made of messages.
func (a *answers) promptText(context.Context, []byte) (string, error) {
	q, err := a.next("the prompt's text", func(q *Asked) bool { return q.Import == abi.ImportPrompt })
	if err != nil || q.Text == nil {
		return "", err
	}
	return string(*q.Text), nil
}

// Part implements plugin.Parts.
func (a *answers) Part(text string) int32 {
	if text == "" {
		return abi.PartUnknown // nobody has asked yet
	}
	q, err := a.next("the part of the answer", func(q *Asked) bool { return q.Import == abi.ImportPart })
	if err != nil {
		return abi.PartUnknown
	}
	return q.Count
}

// Close implements plugin.Parts.
func (a *answers) Close() {}
