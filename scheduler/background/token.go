// SPDX-License-Identifier: MIT

package background

import (
	"errors"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// This file is the way of a token from the row of logits to its text, on the background sampler's
// goroutine but for steps 2 and 6, which are the tick's:
//
//  1. Beside the forward pass, prepareStages asks what the stages want masked, biased or forced
//     (chain.Chain.Prepare).
//  2. After the pass the tick lends the row (Sampler.Draw), and drawToken begins.
//  3. Stages that want the hidden state behind the row are told it. The chain masks the row and
//     runs the stages; the grammar checks what a plugin chose (chain.Chain.Draw).
//  4. The log-probabilities are those of the row as it was.
//  5. The answer takes the token (answer.Answer.Advance): it tells all stages, which may stop the
//     answer or replace its last tokens; keeps the token in the hold window as long as it may be
//     taken back; then adds its bytes to the text and looks for stop strings. Tokens that a plugin
//     has forced to follow are taken in the same way, at once: they need no row
//     (answer.Answer.Follow). The next pass computes them together. If the token is the drafted
//     one, the answer goes on with the row after it: prepareStages, then from step 3.
//  6. The tick collects what is shown and sends it (Sampler.Collect, answer.Answer.Output).

// prepareStages asks the stages what they want of the next row. An error is that of the row's draw.
func (w *Sampler) prepareStages() {
	if w.beginErr == nil {
		w.prepareErr = w.chain.Prepare()
	}
}

// drawTokens draws a token from the first row, and further ones from those after it as long as the
// answer is what was drafted.
func (w *Sampler) drawTokens() {
	for w.drawToken(); ; w.drawToken() {
		n := w.answer.Along(w.rows.Context, w.rows.Draft)
		if n <= w.drawn || !w.row.Skip(n-w.drawn) {
			return
		}
		if w.drawn = n; w.chain.Prepares() {
			w.prepareStages()
		}
	}
}

// drawToken draws a token from the row and takes it into the answer.
func (w *Sampler) drawToken() {
	if err := errors.Join(w.beginErr, w.prepareErr); err != nil {
		w.answer.Fail(err)
		return
	}
	logprobs := w.options.Logprobs
	wanted := logprobs >= 0 || w.chain.WantsLogprobs()
	if wanted {
		w.raw = append(w.raw[:0], w.row.Copy()...) // stages may write to the row
	}
	w.chain.TellHiddenState(w.hiddenState())
	token, trace, err := w.chain.Draw(&w.row)
	if err != nil {
		w.answer.Fail(err)
		return
	}
	details := answer.Details{Trace: trace}
	if wanted && token >= 0 && int(token) < len(w.raw) {
		all := chain.NewLogprobs(w.raw, token, max(logprobs, 0))
		details.Logprob = &all.Token
		if logprobs >= 0 {
			details.Logprobs = all
		}
	}
	w.answer.Advance(token, details)
	w.chain.TellHiddenState(nil) // what comes without a row has none
	if tokens, by := w.chain.Following(); len(tokens) > 0 {
		w.answer.Follow(tokens, by)
	}
}

// hiddenState is that of the row that is drawn from; empty: it is not known.
func (w *Sampler) hiddenState() []float32 {
	rows, at := len(w.rows.Logits), w.drawn-w.rows.First
	width := len(w.rows.States) / rows
	return w.rows.States[at*width : (at+1)*width]
}
