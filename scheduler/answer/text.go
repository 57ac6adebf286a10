// SPDX-License-Identifier: MIT

package answer

import "github.com/penstock/penstock/scheduler/chain"

// text turns the bytes of tokens into text that may be shown: whole UTF-8 characters only, and
// nothing that may still turn out to belong to a stop string or that a stop rule holds back.
// Positions count bytes from the start of the answer.
type text struct {
	stops []string
	rules []gate

	Characters
	held  []byte // whole characters that are not shown yet
	shown int    // how much is shown: the position of held[0]
	tail  []byte // after a rewind: the end of the text shown, where a stop string may begin
}

// visible is what became visible with a token.
type visible struct {
	text string
	ends Reason // why the answer ends here; 0: it goes on
	stop string // the stop string that ended it
}

func newText(stops []string, rules []StopRule) text {
	t := text{stops: stops}
	for _, r := range rules {
		t.rules = append(t.rules, gate{rule: r})
	}
	return t
}

// add takes the bytes of one token. The common case, a whole piece that nothing holds back,
// allocates nothing.
func (t *text) add(token chain.Token, piece string) (visible, error) {
	whole := t.Add(piece)
	if len(t.held)+len(t.tail)+len(t.rules) == 0 && !t.mayStop(whole) {
		t.shown += len(whole)
		return visible{text: whole}, nil
	}
	searched := len(t.held)
	t.held = append(t.held, whole...)
	total := t.shown + len(t.held)

	var ends Reason
	found, cut, stop := t.findStop(searched)
	if found {
		ends = ReasonStop
	}
	release := total - t.partialStop()
	for i := range t.rules {
		g := &t.rules[i]
		why, at, by, err := g.check(token, whole, total)
		if err != nil {
			return visible{}, err
		}
		if why != 0 && (ends == 0 || at < cut) {
			ends, cut, stop = why, at, by
		}
		release = min(release, g.position)
	}
	if ends != 0 {
		return visible{text: t.show(cut), ends: ends, stop: stop}, nil
	}
	return visible{text: t.show(release)}, nil
}

// flush gives what is still held when the answer ends for another reason. An incomplete character
// is lost.
func (t *text) flush() string {
	t.partial = t.partial[:0]
	return t.show(t.shown + len(t.held))
}

// discard forgets what is held: the answer ended before it.
func (t *text) discard() { t.partial, t.held = t.partial[:0], t.held[:0] }

// show gives the held text up to a position, which is held no longer.
func (t *text) show(position int) string {
	n := min(max(position-t.shown, 0), len(t.held))
	s := string(t.held[:n])
	t.held = t.held[:copy(t.held, t.held[n:])]
	t.shown += n
	return s
}
