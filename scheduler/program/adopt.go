// SPDX-License-Identifier: MIT

package program

import (
	"fmt"
	"slices"
)

// Adopted is what a choice goes on from once the program has returned. The zero value is what was
// shown of it.
type Adopted struct {
	Tokens []Token
	From   int // so many of them are the prompt
}

// Adopt has a choice go on from a branch, as it is now, when the program has returned without an
// error: as an answer of the request's chain. The first from tokens are its prompt, and the others
// are shown as injected ones. Where something was shown of the choice, the branch begins with the
// prompt, which has from tokens, and what was shown. Errors: ErrOver, ErrMisuse.
func (r *Run) Adopt(choice int, b *Branch, from int) error {
	if r.isOver() {
		return ErrOver
	}
	if err := b.usable(); err != nil {
		return err
	}
	switch {
	case choice < 0 || choice >= len(r.ended):
		return fmt.Errorf("%w: choice %d goes on from a branch, of %d, which count from 0", ErrMisuse, choice, len(r.ended))
	case r.adopted[choice] != nil:
		return fmt.Errorf("%w: choice %d goes on from a branch already", ErrMisuse, choice)
	case from < 1 || from > len(b.tokens):
		return fmt.Errorf("%w: a choice goes on from a branch of %d tokens, of which %d are the prompt", ErrMisuse, len(b.tokens), from)
	}
	if slices.ContainsFunc(b.tokens[from-1:], func(t Token) bool { return t < 0 }) {
		return fmt.Errorf("%w: a choice goes on from a branch with a picture or a sound at the end of the prompt, or after it", ErrMisuse)
	}
	if shown := r.told[choice]; len(shown) > 0 {
		begun := len(r.options.Prompt) + len(shown)
		if from != len(r.options.Prompt) || begun > len(b.tokens) || !slices.Equal(b.tokens[:from], r.options.Prompt) || !slices.Equal(b.tokens[from:begun], shown) {
			return fmt.Errorf("%w: %d tokens were shown of choice %d, and the branch that it is to go on from does not begin with the prompt and them", ErrMisuse, len(shown), choice)
		}
	}
	if r.adopted == nil {
		r.adopted = map[int]*Adopted{}
	}
	r.adopted[choice] = &Adopted{slices.Clone(b.tokens), from}
	return nil
}

// AdoptShown has all choices that have not ended go on from what was shown of them, unless they go
// on from a branch: the program has failed, and they go on without it.
func (r *Run) AdoptShown() {
	if r.adopted == nil {
		r.adopted = map[int]*Adopted{}
	}
	for choice, ended := range r.ended {
		if !ended && r.adopted[choice] == nil {
			r.adopted[choice] = &Adopted{}
		}
	}
}

// Adopted is what a choice goes on from; nil: it ends with the program.
func (r *Run) Adopted(choice int) *Adopted {
	if r.err != nil {
		return nil
	}
	return r.adopted[choice]
}
