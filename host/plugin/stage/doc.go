// SPDX-License-Identifier: MIT

// Package stage puts a plugin to work in a request: as a stage of its sampler chain, as a stop rule, or as the template that
// writes its prompt.
//
// A Stage opens an instance of its own (package guest) with the first Rewind and closes it with Close. Its calls come in the order
// of a token:
//
//	Prepare  prepare.go                    during the forward pass: mask, bias, forced token
//	Apply    apply.go                      candidates.go or logits.go, by the view that the plugin asks for
//	Accept   accept.go                     after a token was chosen: stop, or take tokens back
//	Check    rule.go                       the text that is new
//	Refuse   refuse.go                     what the plugin asked for cannot be done
//
// Every number that a guest leaves is checked before it is used. A wrong one is a fault, which ends the guest's use.
package stage
