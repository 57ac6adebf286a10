// SPDX-License-Identifier: MIT

// Package stage puts a plugin to work in a request: as a stage of its sampler chain, as a stop
// rule, or as the template that writes its prompt.
//
// A Stage opens an instance of its own (package guest) with the first Reset and closes it with
// Close. Its calls, in the order of a token:
//
//	reset.go    Reset    the first one opens the plugin (open.go); later ones tell it that tokens were taken back
//	prepare.go  Prepare  during the forward pass: a mask, biases or a forced token
//	apply.go    Apply    choosing: candidates.go or logits.go, by the view that the plugin asks for
//	accept.go   Accept   after a token was chosen: the plugin may stop the answer or take tokens back
//	rule.go     Check    the text that is new
//	refuse.go   Refuse   what the plugin asked for cannot be done
//
// Every number that a guest leaves is checked before it is used. A wrong one is a fault, after
// which the guest is not called again.
//
// # Why may the sampler chain run twice for one token?
//
// If a plugin is skipped, the chain may have to run again without its mask. Only at the end of
// the chain is it known whether the request's grammar leaves anything of what the mask allows. To
// know it earlier would cost a grammar mask for each token, and a grammar is fast because it only
// looks at the one token that was drawn.
//
// # Why do stages take the row, instead of being given it?
//
// A row of 128,256 logits is half a megabyte. One that no cache holds takes 40 µs or more to
// copy, and eight streams with a plugin each copied eight of them in each tick, mostly to look
// for a few dozen candidates. A stage that takes the row reads it in the memory of the forward
// pass, and the guest's whole-row view and masked rows are written straight from there. The next
// pass overwrites that memory. So the row is locked meanwhile, which is why a stage must be quick
// about it, and no guest runs then. A tick that does not wait for a late sampler copies the row
// first, if it was not copied before.
//
// # Why may a sampler answer "keep the first k"?
//
// Candidates come best first, so what min-p, top-k and the like drop is the end of the list. A
// number says it all: the guest need not write, and the host has nothing to read back and check.
// The candidates that stay are the host's own. Where a guest does edit the view, most leave the
// ids alone; the host compares them with those it wrote, and looks for doubles only if they
// differ.
package stage
