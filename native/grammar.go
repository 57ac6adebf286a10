// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Grammar is a GBNF grammar and how far a text has come in it. Its methods do not run concurrently. The work of each is bounded: a
// grammar so ambiguous that a token would take longer fails with ErrFailed.
type Grammar struct {
	object
	err C.ps_error
}

// NewGrammar parses text, of at most 1 MiB, for the vocabulary of m, which may be closed before it. root is the rule to begin
// with, "" is "root". What is wrong with the text is an ErrInvalid.
func NewGrammar(m *Model, text, root string) (*Grammar, error) {
	if err := m.enter(); err != nil {
		return nil, fmt.Errorf("grammar: model %w", err)
	}
	defer m.leave()
	var e C.ps_error
	var c *C.ps_grammar
	code := C.ps_grammar_new(m.c(), textPointer(text), C.size_t(len(text)), textPointer(root), C.size_t(len(root)), &c, &e)
	if err := failure(code, &e); err != nil {
		return nil, fmt.Errorf("grammar: %w", err)
	}
	g := &Grammar{}
	g.own(unsafe.Pointer(c), m, func() { C.ps_grammar_free(c) })
	return g, nil
}

// GrammarOfSchema writes the grammar of the JSON texts that a JSON schema of at most 256 KiB allows, as far as a grammar can
// express it. ErrInvalid says what of the schema is not understood, and where: as a JSON pointer, #/properties/name.
func GrammarOfSchema(schema string) (string, error) {
	if err := checkJSON("the JSON schema", schema); err != nil {
		return "", err
	}
	cost := newConversionCost()
	if err := cost.add(schema); err != nil {
		return "", err
	}
	var e C.ps_error
	var text C.ps_text
	switch code := C.ps_grammar_of_schema(textPointer(schema), C.size_t(len(schema)), &text, &e); code {
	case C.PS_OK:
	case C.PS_INVALID:
		return "", fmt.Errorf("%w: the JSON schema, %s", ErrInvalid, cost.placed(C.GoString(&e.text[0])))
	default:
		return "", failure(code, &e)
	}
	return takeText(&text), nil
}

// Mask writes which tokens may come next: bit i of word i/32 for token i. mask has (vocabulary + 31) / 32 words.
func (g *Grammar) Mask(mask []uint32) error {
	if err := g.enterAlone(); err != nil {
		return err
	}
	defer g.leaveAlone()
	p := (*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(mask)))
	if code := C.ps_grammar_mask(g.c(), p, C.size_t(len(mask)), &g.err); code != C.PS_OK {
		return fmt.Errorf("grammar: %w", failure(code, &g.err))
	}
	return nil
}

// Accept moves on by a token. It returns false, and nothing changes, where the token may not come next.
func (g *Grammar) Accept(token int32) (bool, error) {
	if err := g.enterAlone(); err != nil {
		return false, err
	}
	defer g.leaveAlone()
	var allowed C.bool
	if code := C.ps_grammar_accept(g.c(), C.int32_t(token), &allowed, &g.err); code != C.PS_OK {
		return false, fmt.Errorf("grammar: %w", failure(code, &g.err))
	}
	return bool(allowed), nil
}

func (g *Grammar) c() *C.ps_grammar { return (*C.ps_grammar)(g.h.c) }
