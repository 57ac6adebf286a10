// SPDX-License-Identifier: MIT

package schedulertest

import "github.com/penstock/penstock/scheduler"

// After tells for each token of a history from position from on what the model says there, given
// those before it and the adapters of the request.
func (b *Backend) After(history []scheduler.Token, from int, r scheduler.Request) []scheduler.Token {
	var said []scheduler.Token
	h := beginning
	for i, t := range history {
		switch {
		case i < from:
		case b.End > 0 && i >= b.End:
			said = append(said, EndToken)
		default:
			said = append(said, b.next(h|1<<63))
		}
		h = extend(h, b.word(t), with(r, i))
	}
	return said
}

// GoesOn tells what the model says after a history, n tokens, without adapters.
func (b *Backend) GoesOn(history []scheduler.Token, n int) []scheduler.Token {
	h := beginning
	for _, t := range history {
		h = extend(h, b.word(t), nil)
	}
	said := make([]scheduler.Token, n)
	for i := range said {
		if said[i] = EndToken; b.End == 0 || len(history)+i < b.End {
			said[i] = b.next(h | 1<<63)
		}
		h = extend(h, uint64(said[i]), nil)
	}
	return said
}
