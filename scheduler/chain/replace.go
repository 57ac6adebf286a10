// SPDX-License-Identifier: MIT

package chain

import (
	"fmt"
	"slices"

	"github.com/penstock/penstock/scheduler/panics"
)

// Keep stands, in a chain that is to replace another, for the stage of that name in the other: it
// goes on there with all that it knows. Once the chain is replaced, done is called; it may be nil.
func Keep(name string, done func()) Stage { return kept{name, done} }

// kept is such a stand-in. It is never in a chain that is at work.
type kept struct {
	name string
	done func()
}

func (k kept) Traits() Traits               { return Traits{Name: k.name} }
func (k kept) Native() bool                 { return false }
func (k kept) Apply(*View) error            { return k.unexpected() }
func (k kept) Accept(Token) (Effect, error) { return Effect{}, k.unexpected() }
func (k kept) Reset(_ []Token, _ int) error { return k.unexpected() }
func (k kept) Close() error                 { return nil }
func (k kept) unexpected() error {
	return fmt.Errorf("chain: %s was to be kept, and is not known", k.name)
}

// CanReplace is nil if Replace can take these stages: each one of the chain that lasts is kept,
// once, and there is no other.
func (c *Chain) CanReplace(stages []Stage) error {
	left := slices.DeleteFunc(slices.Clone(c.links), func(l link) bool { return !l.traits.Lasts })
	for _, s := range stages {
		k, keeps := s.(kept)
		l := linkOf(s)
		switch at := slices.IndexFunc(left, k.is); {
		case !keeps && l.traits.Lasts:
			return fmt.Errorf("%s cannot be added to an answer that has begun", l.name)
		case keeps && at < 0:
			return fmt.Errorf("%s is not in the sampler chain of the answer, or not so often", k.name)
		case keeps:
			left = slices.Delete(left, at, at+1)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%s is missing; it stays as long as the answer goes on", left[0].name)
	}
	return nil
}

func (k kept) is(l link) bool { return l.name == k.name }

// Replace goes on with other stages, which CanReplace has approved, and closes those before that
// are not kept. If one of the others fails, it closes them and all stays as it is.
func (c *Chain) Replace(stages []Stage, history []Token, prompt int) error {
	fresh := slices.DeleteFunc(slices.Clone(stages), func(s Stage) bool { _, keeps := s.(kept); return keeps })
	if err := c.rewind(fresh, -1, history, prompt); err != nil {
		Close(fresh)
		return err
	}
	gone, links := slices.Clone(c.links), linksOf(stages)
	for i, s := range stages {
		if k, keeps := s.(kept); keeps {
			at := slices.IndexFunc(gone, k.is)
			links[i] = gone[at]
			gone = slices.Delete(gone, at, at+1)
		}
	}
	for _, l := range gone {
		_ = panics.Try(l.stage.Close)
	}
	for _, s := range stages {
		if k, keeps := s.(kept); keeps && k.done != nil {
			k.done()
		}
	}
	c.set(links)
	c.restriction.clear(len(stages)) // those before asked for it
	return nil
}
