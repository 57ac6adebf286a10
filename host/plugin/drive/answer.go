// SPDX-License-Identifier: MIT

// Package drive runs a plugin under the real runtime without a model: it makes up a vocabulary,
// grammars, pictures and the effects of each call, as a host would.
//
// Each call is made through a function of the caller's, which compares its effects
// (host/author/check) or measures it (host/author/cost). Programs run on the caller's rows, or on
// those of a table (host/plugin/session).
package drive

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// Model is a made-up model. A place is a point in an answer: for one place the model says the same
// each time.
type Model interface {
	// View returns a row of logits with what a plugin has prepared, perhaps narrowed by a sampler.
	View(place uint64, p chain.Prepared) *chain.View
	// Text returns the text that a token completes, in whole characters.
	Text(place uint64, token scheduler.Token) string
}

// Caller makes a call of an export of the stage's plugin; did then returns its effects. The error
// is the call's.
type Caller func(s *stage.Stage, export string, call func() error, did func() []any) error

// Answer is one answer that a plugin takes part in as a sampler or a stop rule.
type Answer struct {
	Stage   *stage.Stage
	History []scheduler.Token // prompt first
	Ended   bool
	Calls   int // tokens that the plugin was told, those taken back included

	model  Model
	call   Caller
	words  *Words
	rule   answer.StopRule // nil: the plugin is none
	filter answer.Filter   // nil: the plugin is none
	prompt int
	shown  int // tokens whose text the rule was shown
	bytes  int // bytes of that text
	given  int // calls of the filter
	marked int // tokens of the history at the last mark
	least  int // the fewest tokens of the history after a splice since then
}

// Begin opens a plugin for an answer, until Close.
func Begin(p *load.Plugin, r plugin.RequestInfo, prompt []scheduler.Token, w *Words, m Model, c Caller) (*Answer, error) {
	s, err := stage.New(p, r)
	if err != nil {
		return nil, err
	}
	a := &Answer{Stage: s, History: prompt, model: m, call: c, words: w, rule: s.Rule(), filter: s.Filter(), prompt: len(prompt)}
	if err := a.reset(abi.ExportOpen); err != nil {
		_ = s.Close() // the first error is the one to return
		return nil, err
	}
	return a, nil
}

// Close ends the answer. A fault of the plugin's close is counted and otherwise ignored.
func (a *Answer) Close() { _ = a.Stage.Close() }

// Tokens returns the answer's length.
func (a *Answer) Tokens() int { return len(a.History) - a.prompt }

// Step has the plugin choose a token, or follow those that it forces, and tells it.
func (a *Answer) Step(place uint64) error {
	var prepared chain.Prepared
	err := a.call(a.Stage, abi.ExportPrepare, func() (err error) {
		prepared, err = a.Stage.Prepare()
		return err
	}, func() []any { return []any{prepared.Mask, prepared.Bias, prepared.Forced} })
	if err != nil {
		return err
	}
	if forced := append([]scheduler.Token(nil), prepared.Forced...); len(forced) > 0 {
		for _, t := range forced { // up to one that ends the answer, or that it answers with a splice
			if spliced, err := a.accept(t, a.model.Text(place, t)); err != nil || spliced || a.Ended {
				return err
			}
		}
		return nil
	}
	view := a.model.View(place, prepared)
	if err = a.call(a.Stage, abi.ExportSample, func() error { return a.Stage.Apply(view) }, func() []any { return describeChoice(view) }); err != nil {
		return err
	}
	token := view.Likeliest()
	_, err = a.accept(token, a.model.Text(place, token))
	return err
}

// describeChoice returns a sampler's choice and the candidates that it left.
func describeChoice(v *chain.View) []any {
	did := []any{v.Likeliest(), v.Chosen}
	if v.N >= 0 {
		return append(did, v.ID[:v.N], v.Logit[:v.N])
	}
	row := fnv.New64a()
	for _, l := range v.Row {
		_ = binary.Write(row, binary.LittleEndian, l) // hashes do not fail
	}
	return append(did, fmt.Sprintf("a row with the hash %x", row.Sum64()))
}

// accept tells the plugin a token and its text, and does what the plugin answers. It reports
// whether the answer was a splice.
func (a *Answer) accept(token scheduler.Token, text string) (spliced bool, _ error) {
	a.History = append(a.History, token)
	a.Calls++
	var effect chain.Effect
	err := a.call(a.Stage, abi.ExportAccept, func() (err error) {
		effect, err = a.Stage.Accept(token)
		return err
	}, func() []any {
		return []any{effect.Stop, effect.Splice, effect.Backtrack, effect.Tokens, a.Stage.Foresee(abi.LimitDraft)}
	})
	if err != nil {
		return false, err
	}
	a.Ended = a.Ended || effect.Stop
	if effect.Splice {
		a.History = a.History[:len(a.History)-int(effect.Backtrack)]
		a.least = min(a.least, len(a.History))
		for _, t := range append([]scheduler.Token(nil), effect.Tokens...) {
			if _, err := a.accept(t, strings.ToValidUTF8(a.words.Piece(t), "\uFFFD")); err != nil {
				return true, err
			}
		}
		return true, nil
	}
	if a.rule != nil {
		a.shown, a.bytes = a.shown+1, a.bytes+len(text)
		var verdict answer.Verdict
		err = a.call(a.Stage, abi.ExportStop, func() (err error) {
			verdict, err = a.rule.Check(token, text)
			return err
		}, func() []any { return []any{verdict.Hold, verdict.End, verdict.Show} })
		a.Ended = a.Ended || verdict.End
	}
	if a.filter != nil && err == nil {
		a.given++
		var shown string
		err = a.call(a.Stage, abi.ExportFilter, func() (err error) {
			shown, err = a.filter.Filter(text, a.Ended)
			return err
		}, func() []any { return []any{shown} })
	}
	return false, err
}

// Mark is a point in an answer.
type Mark struct {
	history      []scheduler.Token
	shown, bytes int
	given        int
}

// Mark returns the answer's present point.
func (a *Answer) Mark() Mark {
	a.marked, a.least = len(a.History), math.MaxInt
	return Mark{append([]scheduler.Token(nil), a.History...), a.shown, a.bytes, a.given}
}

// TookAllBack reports whether the plugin itself has taken back all tokens since the last mark, or
// more. What it learnt by that about the next token, such as that a word must not come there, stays
// after a return to the mark.
func (a *Answer) TookAllBack() bool { return a.least <= a.marked }

// Return takes back all that came after a mark, and its text.
func (a *Answer) Return(to Mark) error {
	a.History, a.Ended = append(a.History[:0], to.history...), false
	if rule, ok := a.rule.(answer.RewindRule); ok {
		rule.Rewind(a.shown-to.shown, a.bytes-to.bytes)
		a.shown, a.bytes = to.shown, to.bytes
	}
	if a.filter != nil {
		a.filter.Unfilter(a.given - to.given)
		a.given = to.given
	}
	return a.reset(abi.ExportRewind)
}

// reset tells the plugin the history.
func (a *Answer) reset(export string) error {
	return a.call(a.Stage, export, func() error { return a.Stage.Reset(a.History, a.prompt) }, nothing)
}

func nothing() []any { return nil }

// Banned is the logit of a token that must not come.
var Banned = float32(math.Inf(-1))

// Prepare applies a plugin's mask and biases to a row as a host does. If a mask leaves no finite
// logit, its first token gets the logit 0, since a model's row has one for each token.
func Prepare(row []float32, p chain.Prepared) {
	if p.Mask != nil {
		first, left := -1, false
		for t := range row {
			if p.Mask[t/32]>>(t%32)&1 == 0 {
				row[t] = Banned
				continue
			}
			if first < 0 {
				first = t
			}
			left = left || row[t] > Banned
		}
		if !left {
			row[max(0, first)] = 0
		}
	}
	for _, b := range p.Bias {
		row[b.Token] += b.Value
	}
}
