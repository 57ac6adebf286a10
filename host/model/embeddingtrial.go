// SPDX-License-Identifier: MIT

package model

import (
	"errors"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/native"
)

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
