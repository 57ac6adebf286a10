// SPDX-License-Identifier: MIT

package chain

import "fmt"

// This file tests what stages force, choose and splice against the masks of those whose masks bind
// others.

// TakeBack is how many tokens more than usual the answer may compute.
func (c *Chain) TakeBack() (most int) {
	for i := range c.links {
		most = max(most, c.links[i].traits.TakeBack)
	}
	return most
}

// maskMisfit is why a token that stage by asks for is not allowed by what was prepared; nil if it
// is.
func (c *Chain) maskMisfit(by int, t Token) error {
	for i := range c.links {
		if i == by || !c.links[i].traits.Strict || i >= len(c.restriction.asked) {
			continue
		}
		if mask := c.restriction.asked[i].Mask; len(mask) > 0 && !allows(mask, t) {
			return c.links[i].forbids(t)
		}
	}
	return nil
}

// StrictMisfit is why a token that stage by puts into the answer after others is not allowed by
// the masks that bind it; nil if it is. The stages that have such masks prepare them for it.
func (c *Chain) StrictMisfit(by int, t Token) (why, err error) {
	for i := range c.links {
		l := &c.links[i]
		if i == by || !l.traits.Strict || l.preparer == nil {
			continue
		}
		p, err := l.preparer.Prepare()
		if err != nil {
			return nil, err
		}
		if len(p.Mask) > 0 && !allows(p.Mask, t) {
			return l.forbids(t), nil
		}
	}
	return nil, nil
}

func (l *link) forbids(t Token) error {
	return fmt.Errorf("%w: token %d is not allowed by the mask of %s", ErrNotAllowed, t, l.name)
}

// allows reports whether a mask allows a token.
func allows(mask []uint32, t Token) bool {
	word := int(t) / 32
	return t >= 0 && word < len(mask) && mask[word]>>(t%32)&1 == 1
}
