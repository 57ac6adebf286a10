// SPDX-License-Identifier: MIT

// Package grammar gives a plugin the host's own grammar engine.
package grammar

import (
	"errors"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Kind is a notation of grammars.
type Kind int32

// The notations.
const (
	GBNF       Kind = abi.GrammarGBNF // llama.cpp's
	JSONSchema Kind = abi.GrammarJSONSchema
)

// Grammar is a compiled grammar with its place in it.
type Grammar struct{ handle int32 }

var (
	// ErrGrammar means that the host could not compile a grammar; the operator's log has the reason.
	ErrGrammar = errors.New("the grammar is not valid, or the request has four already")
	// ErrMask means that the mask could not be filled.
	ErrMask = errors.New("the mask cannot be filled: the grammar was not opened for this request, or has become too ambiguous")
)

// Open compiles a grammar, at most four for a request.
func Open(k Kind, text string) (Grammar, error) {
	handle := abi.GrammarOpen(int32(k), unsafe.Pointer(unsafe.StringData(text)), int32(len(text)))
	if handle < 0 {
		return Grammar{}, ErrGrammar
	}
	return Grammar{handle}, nil
}

// Fill fills the mask of what comes next with the tokens that the grammar allows, and no others. It may be called in Prepare only.
func (g Grammar) Fill(*penstock.Mask) error {
	if abi.GrammarMask(g.handle) != 0 {
		return ErrMask
	}
	return nil
}

// Accept moves on by a token. It returns false, and stays where it is, if the grammar does not allow the token.
func (g Grammar) Accept(t penstock.Token) bool { return abi.GrammarAccept(g.handle, int32(t)) == 0 }
