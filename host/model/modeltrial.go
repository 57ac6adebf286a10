// SPDX-License-Identifier: MIT

package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/native"
)

// modelTrial does with a model what serving will do. In llama.cpp not every architecture can do
// all of it, and some abort.
type modelTrial struct {
	model   *native.Model
	options options
	lacks   Lacks
	unified bool // the layout of cells that is tried
	context *native.Context
	batch   native.Batch
	alone   [2][textLen][]float32 // logits of each text when nothing is computed beside it
}

const (
	textLen   = 11 // tokens of each of two texts
	promptLen = 8  // of which so many are its prompt
	chunkLen  = 3  // and so many are in the prompt's first chunk
	further   = 2  // tokens are decoded after an exercise
	sequences = 4  // of the trial's contexts
)

// piece is tokens of a text in one pass: text[from:to] in a sequence. NoLogits means that its
// logits are of no interest.
type piece struct {
	text, sequence, from, to int
	noLogits                 bool
}

// exercises try what a model can be served without.
var exercises = []struct {
	name string
	run  func(*modelTrial) error
}{{Selecting, (*modelTrial).selecting}, {Together, (*modelTrial).together}, {Truncating, (*modelTrial).truncating}, {Sharing, (*modelTrial).sharing}, {Saving, (*modelTrial).saving},
	{Heads, (*modelTrial).guessing}, {Heads, (*modelTrial).guessingFar}}

func isExercise(stage string) bool {
	for _, e := range exercises {
		if e.name == stage {
			return true
		}
	}
	return stage == Embedding || stage == Scoring
}

// runExercises tries a model in each layout of cells that serving may choose. It announces each
// exercise, so that the parent knows where a crash came from, and returns what the model cannot
// do, with what is known of that.
func runExercises(m *native.Model, o options, known Lacks, announce func(stage string)) (Lacks, error) {
	t := &modelTrial{model: m, options: o, lacks: known}
	for _, t.unified = range []bool{false, true} {
		if !t.unified && !m.Info().OwnCells() {
			continue
		}
		announce("")
		t.alone = [2][textLen][]float32{}
		failed, err := t.run((*modelTrial).eachAlone)
		switch err := errors.Join(err, failed); {
		case errors.Is(err, errForgets): // an encoder, which is not served
			return t.lacks, nil
		case err != nil:
			return nil, err
		}
		for _, e := range exercises {
			if t.lacks.Has(e.name) || e.name == Heads && (!o.Loading.LoadMTP || t.lacks.Has(Selecting) || t.lacks.Has(Together)) {
				continue
			}
			announce(e.name)
			failed, err := t.run(e.run)
			if err != nil {
				return nil, err
			}
			if failed != nil {
				t.lacks = append(t.lacks, Lack{e.name, excerpt.Of(failed.Error(), longestReason)})
			}
		}
	}
	return t.lacks, nil
}

// run runs an exercise on a context of its own. That it failed says something of the model; that
// there was no context does not.
func (t *modelTrial) run(exercise func(*modelTrial) error) (failed, err error) {
	t.context, err = native.NewContext(t.model, t.sizes())
	if err != nil {
		return nil, err
	}
	failed = exercise(t)
	return failed, t.context.Close()
}

func (t *modelTrial) sizes() native.ContextOptions {
	return t.options.context(native.ContextOptions{
		Cells: 64 * sequences, Batch: 32, UBatch: 6, Sequences: sequences, Unified: t.unified, Threads: native.Threads(t.model.Info().Size),
		FeedsHead: t.model.Info().Head,
	})
}

// errForgets: the model keeps nothing between passes.
var errForgets = errors.New("it keeps nothing between passes")

// eachAlone computes both texts, one after the other: the prompt but for its last token in one
// pass, then token by token.
func (t *modelTrial) eachAlone() error {
	if !t.context.Limits().Memory {
		return errForgets
	}
	for text, to := range []int{textLen, promptLen + 1} {
		if err := t.pass(piece{text: text, sequence: text, to: promptLen - 1}); err != nil {
			return err
		}
		if err := t.each(piece{text: text, sequence: text, from: promptLen - 1, to: to}); err != nil {
			return err
		}
	}
	return nil
}

// selecting computes a prompt in one pass and wants the logits of its last token.
func (t *modelTrial) selecting() error {
	if err := t.pass(piece{to: promptLen}); err != nil {
		return err
	}
	return t.goOn(0)
}

// together has one text decode beside the chunks of the other's prompt, then both decode, while
// other sequences rest.
func (t *modelTrial) together() error {
	passes := [][]piece{
		{{text: 1, sequence: 0, to: promptLen, noLogits: true}, {text: 0, sequence: 1, to: chunkLen}},
		{{text: 0, sequence: 2, to: promptLen}},
		{{text: 0, sequence: 2, from: 8, to: 9}, {text: 1, sequence: 3, to: chunkLen}},
		{{text: 0, sequence: 2, from: 9, to: 10}, {text: 1, sequence: 3, from: chunkLen, to: promptLen}},
		{{text: 0, sequence: 2, from: 10, to: 11}, {text: 1, sequence: 3, from: 8, to: 9}},
	}
	for _, p := range passes {
		if err := t.pass(p...); err != nil {
			return err
		}
	}
	return nil
}

// truncating removes what followed a prompt and continues it with another text.
func (t *modelTrial) truncating() error {
	if err := t.twoTexts(); err != nil {
		return err
	}
	if err := t.context.Remove(0, promptLen, -1); err != nil {
		return err
	}
	return t.goOn(0)
}

// twoTexts puts the first text's prompt into a sequence, then the rest of the second.
func (t *modelTrial) twoTexts() error {
	if err := t.pass(piece{to: promptLen}); err != nil {
		return err
	}
	return t.pass(piece{text: 1, from: promptLen, to: textLen, noLogits: true})
}

// sharing begins a sequence with the cells of another, whose text differs after the prompt.
func (t *modelTrial) sharing() error {
	if err := t.share(); err != nil {
		return err
	}
	return t.goOn(2)
}

// share shares the first text's prompt as the engine does: where nothing can be cut, only whole
// sequences.
func (t *modelTrial) share() error {
	begin := t.twoTexts
	if t.lacks.Has(Truncating) {
		begin = func() error { return t.pass(piece{to: promptLen}) }
	}
	if err := begin(); err != nil {
		return err
	}
	return t.context.Share(0, 2, promptLen)
}

// saving puts a sequence's state away, has another text take its place and puts it back elsewhere.
func (t *modelTrial) saving() (err error) {
	if err := t.pass(piece{to: promptLen}); err != nil {
		return err
	}
	state, err := t.context.SaveState(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	t.context.FinishCopy()
	if err := t.context.Remove(0, -1, -1); err != nil {
		return err
	}
	if err := t.pass(piece{text: 1, to: promptLen}); err != nil {
		return err
	}
	if err := t.context.RestoreState(3, state, promptLen); err != nil {
		return err
	}
	return t.goOn(3)
}

// guessing has the head guess after passes with two texts, and after one of them was cut.
func (t *modelTrial) guessing() (err error) {
	head, err := native.NewHead(t.context, t.sizes())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, head.Close()) }()
	follow := func(pieces ...piece) error {
		return errors.Join(t.pass(pieces...), head.Follow(&t.batch, false))
	}
	guess := func(at int) error {
		return head.Draft([]native.HeadAsk{{Sequence: 0, Token: t.token(0, at), Position: at, Most: 2}}, time.Minute, 0)
	}
	err = errors.Join(
		follow(piece{to: promptLen}, piece{text: 1, sequence: 1, to: chunkLen}), guess(promptLen),
		follow(piece{from: promptLen, to: textLen}, piece{text: 1, sequence: 1, from: chunkLen, to: promptLen}))
	_ = t.context.Remove(0, promptLen+1, -1) // heads of models that cannot have cells of their own
	return errors.Join(err, head.Cut(0, promptLen+1), head.Share(1, 2, chunkLen), guess(promptLen+1))
}

// farthest is how many tokens of a block the shim has heads guess at most in a pass.
const farthest = 64

// guessingFar has the head guess as many tokens as it can, and in one pass where it guesses blocks:
// what llama.cpp plans for them grows with their number.
func (t *modelTrial) guessingFar() (err error) {
	sizes := t.sizes()
	sizes.Cells, sizes.Batch, sizes.UBatch = 2*farthest*sequences, farthest, farthest
	head, err := native.NewHead(t.context, sizes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, head.Close()) }()
	asks := []native.HeadAsk{{Token: t.token(0, promptLen+further), Position: promptLen + further, Most: farthest}}
	err = errors.Join(t.pass(piece{to: promptLen + further}), head.Follow(&t.batch, false), head.Draft(asks, time.Minute, 0))
	if err == nil && len(asks[0].Draft) == 0 {
		err = errDamaged // a GPU takes such for the logits of token -1, and looks it up
	}
	return err
}

// goOn decodes what follows the first text's prompt, in a sequence that holds the prompt.
func (t *modelTrial) goOn(sequence int) error {
	return t.each(piece{sequence: sequence, from: promptLen, to: promptLen + further})
}

// each computes a piece token by token.
func (t *modelTrial) each(p piece) error {
	for at := p.from; at < p.to; at++ {
		if err := t.pass(piece{text: p.text, sequence: p.sequence, from: at, to: at + 1}); err != nil {
			return err
		}
	}
	return nil
}

// pass computes pieces of texts in one pass, or where the model cannot select, in one without
// logits and one with logits only.
func (t *modelTrial) pass(pieces ...piece) error {
	if !t.lacks.Has(Selecting) {
		return t.decode(pieces, func(bool) bool { return true })
	}
	if err := t.decode(pieces, func(heard bool) bool { return !heard }); err != nil {
		return err
	}
	return t.decode(pieces, func(heard bool) bool { return heard })
}

// decode runs a pass over the wanted tokens of some pieces and compares the logits from the end of
// the prompts on with those of the texts alone.
func (t *modelTrial) decode(pieces []piece, wanted func(heard bool) bool) error {
	t.batch.Reset()
	for _, p := range pieces {
		for at := p.from; at < p.to; at++ {
			if heard := p.wantsLogits(at); wanted(heard) {
				t.batch.Add(t.token(p.text, at), int32(at), int32(p.sequence), heard)
			}
		}
	}
	if len(t.batch.Tokens) == 0 {
		return nil
	}
	if err := t.context.Decode(&t.batch); err != nil {
		return err
	}
	row := 0
	for _, p := range pieces {
		for at := p.from; at < p.to; at++ {
			if !p.wantsLogits(at) || !wanted(true) {
				continue
			}
			if err := t.compare(p, at, t.context.Row(row)); err != nil {
				return err
			}
			row++
		}
	}
	return nil
}

func (p piece) wantsLogits(at int) bool { return !p.noLogits && at >= promptLen-1 }

// token makes up a text that does not repeat one token.
func (t *modelTrial) token(text, at int) int32 {
	return int32((1 + 7*at + 31*text) % t.model.Info().Vocabulary)
}

// compare judges the logits after a token.
func (t *modelTrial) compare(p piece, at int, row []float32) error {
	if damaged(row) {
		return errDamaged
	}
	alone := &t.alone[p.text][at]
	if *alone == nil {
		*alone = append([]float32{}, row...)
		return nil
	}
	if e := deviation(*alone, row); e > tolerance {
		return fmt.Errorf("token %d of a text differs from what is computed where nothing else is done (by %.2g of its size)", at, e)
	}
	return nil
}

// damaged reports whether a row contains NaN or infinity; −∞ is a logit that a model may give.
func damaged(row []float32) bool {
	return slices.ContainsFunc(row, func(x float32) bool { return x != x || math.IsInf(float64(x), 1) })
}

var errDamaged = errors.New("it computes logits that are not numbers; its weights are damaged")

// tolerance of deviations: sums in another order change the rounding of 16-bit keys and values and
// of 8-bit inputs, and which of two equally good experts is chosen. What reads a wrong cell
// differs by about 1.
const tolerance = 0.05

// deviation is the mean squared difference of two rows by the variance of the first.
func deviation(a, b []float32) float64 {
	var sum, squares, differences float64
	for i := range a {
		x, d := float64(a[i]), float64(a[i])-float64(b[i])
		if math.IsInf(x, -1) && a[i] == b[i] {
			continue
		}
		sum += x
		squares += x * x
		differences += d * d
	}
	return differences / max(squares-sum*sum/float64(len(a)), math.SmallestNonzeroFloat32)
}

// What llama.cpp may be unable to do with a model, which can be served without it.
const (
	Together   = "together"   // several sequences in one pass
	Selecting  = "selecting"  // giving the logits of some tokens of a pass only
	Truncating = "truncating" // dropping the end of a sequence
	Sharing    = "sharing"    // beginning a sequence as another
	Saving     = "saving"     // putting the state of a sequence away and back
	Heads      = "heads"      // guessing with its head
	Embedding  = "embedding"  // giving embeddings
	Scoring    = "scoring"    // giving the scores of its classifier
)

// Lacks are what the trial found that a model cannot do.
type Lacks []Lack

// Lack is one of it.
type Lack struct {
	What string `json:"what"` // Together and so on
	Why  string `json:"why"`  // what happened in the trial
}

// Has reports whether the model lacks something.
func (l Lacks) Has(what string) bool {
	return slices.ContainsFunc(l, func(x Lack) bool { return x.What == what })
}

// errOptions: it is the options that a model cannot be loaded with, not the file.
var errOptions = errors.New("the options of loading do not fit")

// options are those of serving that a trial has too: what a file cannot do with them is to be
// found there.
type options struct {
	Loading   native.ModelOptions   `json:"loading,omitzero"`
	Computing native.ContextOptions `json:"computing,omitzero"`
}

// onCPU are the options of a trial on the CPU, without what is of account on GPUs only, and what
// changes nothing but speed.
func (o CheckOptions) onCPU() options {
	return options{
		native.ModelOptions{KVOverrides: o.Loading.KVOverrides, NoRepack: o.Loading.NoRepack, LoadMTP: o.Loading.LoadMTP, Head: o.Loading.Head},
		native.ContextOptions{Rope: o.Computing.Rope, FlashAttention: o.Computing.FlashAttention, TypeK: o.Computing.TypeK, TypeV: o.Computing.TypeV,
			FullWindowCache: o.Computing.FullWindowCache},
	}
}

// onGPU are those of a trial with a GPU.
func (o CheckOptions) onGPU() options {
	all := options{o.Loading, o.Computing}
	all.Loading.GPULayers, all.Loading.Progress = o.GPULayers, nil
	return all
}

// key tells options apart.
func (o options) key() string {
	text, err := json.Marshal(o)
	if err != nil {
		return err.Error() // a value that is no number, which loading refuses
	}
	return string(text)
}

// usesGPU reports whether a GPU is to compute, if there is one.
func (o CheckOptions) usesGPU() bool {
	named := o.Loading.Devices
	return !slices.Equal(named, []string{"none"}) && (o.GPULayers != 0 || len(named) > 0)
}

// context makes the options of a trial's context.
func (o options) context(sizes native.ContextOptions) native.ContextOptions {
	c := o.Computing
	c.Cells, c.Batch, c.UBatch, c.Sequences, c.Rows = sizes.Cells, sizes.Batch, sizes.UBatch, sizes.Sequences, sizes.Rows
	c.Unified, c.Threads, c.Output, c.FeedsHead = sizes.Unified, sizes.Threads, sizes.Output, sizes.FeedsHead
	return c
}

// embeddingExercises try what a model gives in place of logits. A model without a classifier is
// not asked for scores.
var embeddingExercises = []struct {
	name   string
	output native.Output
}{{Embedding, native.Embeddings}, {Scoring, native.Scores}}

// runEmbeddingExercises computes texts alone and together, as host/embedding does, and adds to the
// lacks what the model cannot do.
func runEmbeddingExercises(m *native.Model, lacks Lacks, announce func(stage string)) (Lacks, error) {
	for _, e := range embeddingExercises {
		if lacks.Has(e.name) || e.output == native.Scores && len(m.Info().Classes) == 0 {
			continue
		}
		announce(e.name)
		c, err := native.NewContext(m, native.ContextOptions{
			Cells: 64 * sequences, Batch: 32, UBatch: 32, Sequences: sequences, Unified: true, Output: e.output, Threads: native.Threads(m.Info().Size),
		})
		if errors.Is(err, native.ErrNoMemory) {
			return nil, err
		}
		if err == nil {
			err = errors.Join(embedTogether(c, e.output), c.Close())
		}
		if err != nil {
			lacks = append(lacks, Lack{e.name, excerpt.Of(err.Error(), longestReason)})
		}
	}
	return lacks, nil
}

// embedTogether computes three texts in one pass, then each alone.
func embedTogether(c *native.Context, output native.Output) error {
	lengths := []int{textLen, chunkLen, 1}
	all := []int{0, 1, 2}
	together, err := vectorsOf(c, output, lengths, all...)
	if err != nil {
		return err
	}
	at := 0
	for _, text := range all {
		alone, err := vectorsOf(c, output, lengths, text)
		if err != nil {
			return err
		}
		for i, v := range alone {
			if e := deviation(v, together[at+i]); e > tolerance {
				return fmt.Errorf("what it gives for a text differs beside others (by %.2g of its size)", e)
			}
		}
		at += len(alone)
	}
	return nil
}

// vectorsOf computes texts of the lengths in one pass and forgets them. It returns the embeddings
// of their tokens, or their scores with a zero behind, so that one score can be compared.
func vectorsOf(c *native.Context, output native.Output, lengths []int, texts ...int) (out [][]float32, err error) {
	var b native.Batch
	for sequence, text := range texts {
		for i := range lengths[text] {
			b.Add(int32((7*text+3*i+1)%c.Model().Info().Vocabulary), int32(i), int32(sequence), true)
		}
	}
	if err := c.Decode(&b); err != nil {
		return nil, err
	}
	for i := range c.Rows() {
		out = append(out, slices.Clone(c.Row(i)))
	}
	for sequence := range texts {
		if output == native.Scores {
			scores, err := c.Scores(int32(sequence))
			if err != nil {
				return nil, err
			}
			out = append(out, append(slices.Clone(scores), 0))
		}
		err = errors.Join(err, c.Remove(int32(sequence), -1, -1))
	}
	for _, v := range out {
		if damaged(v) {
			return nil, errDamaged
		}
	}
	return out, err
}
