// SPDX-License-Identifier: MIT

// Package grammar gives a plugin the host's own grammar engine.
package grammar

import (
	"errors"
	"math"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Kind is a notation of grammars.
type Kind int32

// The notations.
const (
	GBNF       Kind = abi.GrammarGBNF       // llama.cpp's
	JSONSchema Kind = abi.GrammarJSONSchema // a JSON schema
)

// Grammar is a compiled grammar with its current state.
type Grammar struct{ handle int32 }

var (
	// ErrGrammar means that the host could not compile a grammar. The error of Open has the reason
	// if the host returns it; else it is in the request's log.
	ErrGrammar = errors.New("the grammar is not valid, or the request has four already")
	// ErrMask means that the mask could not be filled.
	ErrMask = errors.New("the mask cannot be filled: the grammar was not opened for this request, or has become too ambiguous")
	// ErrTooFew means that the text cannot be completed with so few tokens.
	ErrTooFew = errors.New("so few tokens do not complete the text")
	// ErrRest means that the host cannot determine how many tokens complete the text, or is too old
	// for that.
	ErrRest = errors.New("this host cannot tell how many tokens complete the text")
)

// refusal is an ErrGrammar with its reason.
type refusal string

// Error implements error.
func (r refusal) Error() string { return string(r) }

// Is makes it an ErrGrammar.
func (r refusal) Is(target error) bool { return target == ErrGrammar }

// reason is why the last grammar was refused.
func reason() error {
	if !penstock.Feature("grammar_reason") {
		return ErrGrammar
	}
	n := abi.GrammarReason(nil, 0)
	if n <= 0 {
		return ErrGrammar
	}
	text := make([]byte, n)
	abi.GrammarReason(unsafe.Pointer(unsafe.SliceData(text)), n)
	return refusal(text)
}

// Open compiles a grammar. A request may have up to four.
func Open(k Kind, text string) (Grammar, error) {
	handle := abi.GrammarOpen(int32(k), unsafe.Pointer(unsafe.StringData(text)), int32(len(text)))
	if handle < 0 {
		return Grammar{}, reason()
	}
	return Grammar{handle}, nil
}

// Fill sets the mask of the next token to the tokens that the grammar allows. It may only be called
// in Prepare, and fills the mask of Prepare's Next, whatever it is given: call next.Mask() for it,
// so that the mask counts.
func (g Grammar) Fill(*penstock.Mask) error {
	if abi.GrammarMask(g.handle) != 0 {
		return ErrMask
	}
	return nil
}

// FillWithin is Fill without the tokens after which the text cannot be completed with this many
// tokens in all, the next one included. An answer is complete in time if each of its tokens is in
// such a mask, and tokens is one less each time.
//
// # Errors
//
//   - ErrTooFew: so few tokens do not complete it; the mask is empty.
//   - ErrMask: as with Fill.
//   - ErrRest: the host does not support this; call Completes first.
func (g Grammar) FillWithin(_ *penstock.Mask, tokens int) error {
	if !Completes() {
		return ErrRest
	}
	switch abi.GrammarMaskWithin(g.handle, int32(min(tokens, math.MaxInt32))) {
	case abi.WithinFilled:
		return nil
	case abi.WithinTooFew:
		return ErrTooFew
	}
	return ErrMask
}

// Completes reports whether the host supports FillWithin and Rest.
func Completes() bool {
	return penstock.Feature("grammar_mask_within") && penstock.Feature("grammar_rest")
}

// Rest is an upper bound of the number of tokens that complete the text; 0 if it may end. If ended
// is true, only an end token may follow.
//
// # Errors
//
//   - ErrRest: the number cannot be determined.
func (g Grammar) Rest() (tokens int, ended bool, err error) {
	n := int32(abi.RestUnknown)
	if Completes() {
		n = abi.GrammarRest(g.handle)
	}
	switch {
	case n == abi.RestEnded:
		return 0, true, nil
	case n < 0:
		return 0, false, ErrRest
	}
	return int(n), false, nil
}

// Accept advances the grammar by a token. If the grammar does not allow the token, it returns false
// and the state does not change.
func (g Grammar) Accept(t penstock.Token) bool { return abi.GrammarAccept(g.handle, int32(t)) == 0 }

// Branch constrains a program's branch to the grammar from its beginning: candidates, logits, draws
// and runs of the branch and of its forks only have tokens that it allows.
func (g Grammar) Branch(b *penstock.Branch) { b.SetGrammar(g.handle) }
