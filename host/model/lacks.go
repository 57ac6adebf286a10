// SPDX-License-Identifier: MIT

package model

import "slices"

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
