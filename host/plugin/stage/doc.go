// SPDX-License-Identifier: MIT

// Package stage puts a plugin to work in a request: as a stage of its sampler chain, as a stop rule, or as the template that
// writes its prompt.
//
// A Stage opens an instance of its own (package guest) with the first Reset and closes it with Close. Its calls, in the order of
// a token:
//
//	reset.go    Reset    the first one opens the plugin (open.go); later ones tell it that tokens were taken back
//	prepare.go  Prepare  during the forward pass: a mask, biases or a forced token
//	apply.go    Apply    choosing: candidates.go or logits.go, by the view that the plugin asks for
//	accept.go   Accept   after a token was chosen: the plugin may stop the answer or take tokens back
//	rule.go     Check    the text that is new
//	refuse.go   Refuse   what the plugin asked for cannot be done
//
// Every number that a guest leaves is checked before it is used. A wrong one is a fault, after which the guest is not called again.
package stage
