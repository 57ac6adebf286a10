// SPDX-License-Identifier: MIT

package answer

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/scheduler/chain"
)

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
	by   string // the rule that ended it, if it has a name
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
	var by string
	if found {
		ends = ReasonStop
	}
	release := total - t.partialStop()
	for i := range t.rules {
		g := &t.rules[i]
		why, at, word, err := g.check(token, whole, total)
		if err != nil {
			return visible{}, err
		}
		if why != 0 && (ends == 0 || at < cut) {
			ends, cut, stop, by = why, at, word, g.name()
		}
		release = min(release, g.position)
	}
	if ends != 0 {
		return visible{text: t.show(cut), ends: ends, stop: stop, by: by}, nil
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

// StopRule decides from the text of an answer whether it ends. It sees all text once, in whole
// UTF-8 characters.
type StopRule interface {
	// Check is called with each token and the text it completed, which may be empty.
	Check(t chain.Token, text string) (Verdict, error)
	Close() error
}

// RewindRule is a stop rule that keeps count of the text.
type RewindRule interface {
	// Rewind tells that the last tokens that the rule was given, and the last bytes of text, are
	// not part of the answer any more.
	Rewind(tokens, bytes int)
}

// NamedRule is a stop rule that is somebody's, such as a plugin's.
type NamedRule interface {
	// Name is whose, as traces name it.
	Name() string
}

// Verdict is a stop rule's answer. The zero value means that all text so far may be shown.
type Verdict struct {
	Hold  bool   // the text is not to be shown yet, but for Show bytes
	End   bool   // the answer ends
	Limit bool   // with End: it ends as at its greatest length (ReasonLength), else as one that is complete (ReasonStop)
	Show  int    // with End or Hold: how many bytes are shown beyond those that may be; with End, negative means all
	Stop  string // with End: the stop string that was found; "": none was
}

// gate is a stop rule and the position up to which it lets text be shown.
type gate struct {
	rule     StopRule
	position int
}

// name is whose rule it is; empty: nobody's.
func (g *gate) name() string {
	if r, ok := g.rule.(NamedRule); ok {
		return r.Name()
	}
	return ""
}

// check shows the rule a token and its text, which ends at total. It returns the reason if the
// answer ends, at which position, and by which stop string.
func (g *gate) check(t chain.Token, text string, total int) (ends Reason, at int, stop string, err error) {
	v, err := g.rule.Check(t, text)
	if err != nil {
		return 0, 0, "", err
	}
	if !v.End {
		if g.position = min(g.position+max(v.Show, 0), total); !v.Hold {
			g.position = total
		}
		return 0, 0, "", nil
	}
	ends, at = ReasonStop, total
	if v.Limit {
		ends = ReasonLength
	}
	if v.Show >= 0 {
		at = min(g.position+v.Show, total)
	}
	return ends, at, v.Stop, nil
}

// mayStop reports whether s holds a stop string or ends with the beginning of one.
func (t *text) mayStop(s string) bool {
	for _, stop := range t.stops {
		if strings.Contains(s, stop) || Overlap(s, stop) > 0 {
			return true
		}
	}
	return false
}

// findStop finds the stop string that begins first in the held text, and the position of its
// beginning. Text before searched was looked at already, so a match ends after it.
func (t *text) findStop(searched int) (found bool, cut int, stop string) {
	all := string(t.tail) + string(t.held)
	at := len(all)
	for _, s := range t.stops {
		from := max(len(t.tail)+searched-len(s)+1, 0)
		if i := strings.Index(all[from:], s); i >= 0 && (from+i < at || !found) {
			found, at, stop = true, from+i, s
		}
	}
	return found, t.shown + at - len(t.tail), stop
}

// partialStop is how many bytes at the end of the held text may be the beginning of a stop string,
// which may begin in the tail.
func (t *text) partialStop() int {
	n := 0
	all := string(t.tail) + string(t.held)
	for _, s := range t.stops {
		n = max(n, Overlap(all, s))
	}
	if n <= len(t.held) {
		t.tail = t.tail[:0]
	}
	return n
}

// Overlap is the length of the longest end of s that is a proper beginning of stop.
func Overlap(s, stop string) int {
	for n := min(len(s), len(stop)-1); n > 0; n-- {
		if s[len(s)-n:] == stop[:n] {
			return n
		}
	}
	return 0
}

// rewind takes the text of the last n of all tokens back, and returns what of it was shown: the
// end of the text shown so far. Text of the others that is not shown yet stays held.
func (t *text) rewind(n int, all []chain.Token, v Vocabulary) (removed string) {
	kept, taken := all[:len(all)-n], all[len(all)-n:]
	total := t.shown + len(t.held)
	before := t.textEnd(kept, v)
	partial := string(t.partial)
	var gone strings.Builder
	for _, token := range taken {
		gone.WriteString(t.Add(v.Piece(token)))
	}
	t.partial = append(t.partial[:0], partial...)
	to := total - gone.Len()
	if to < t.shown {
		removed = gone.String()[:t.shown-to]
		t.shown = to
	}
	t.held = t.held[:to-t.shown]
	for i := range t.rules {
		g := &t.rules[i]
		g.position = min(g.position, to)
		if r, ok := g.rule.(RewindRule); ok {
			r.Rewind(n, gone.Len())
		}
	}
	t.setTail(before)
	return removed
}

// textEnd is the end of the text of these tokens, of which the beginning of a character that they
// end with is left in t.partial.
func (t *text) textEnd(tokens []chain.Token, v Vocabulary) []byte {
	t.partial, t.tail = t.partial[:0], t.tail[:0]
	for _, token := range tokens[max(len(tokens)-endingMost, 0):] {
		t.tail = append(t.tail, t.Add(v.Piece(token))...)
	}
	return t.tail
}

// endingMost bounds how many tokens are looked at for that.
const endingMost = 4096

// setTail finds the end of the text shown, where a stop string may begin, in the end of all text.
func (t *text) setTail(ending []byte) {
	longest := 0
	for _, s := range t.stops {
		longest = max(longest, len(s)-1)
	}
	end := max(len(ending)-len(t.held), 0)
	t.tail = append(t.tail[:0], ending[max(end-longest, 0):end]...)
}

// Characters puts the bytes of tokens together to whole UTF-8 characters.
type Characters struct {
	partial []byte // the beginning of a character, at most 3 bytes
}

// Add takes the bytes of a token and returns the whole characters that they complete. Bytes that
// can never become a character come out as U+FFFD.
func (c *Characters) Add(piece string) string {
	if len(c.partial) == 0 && (isASCII(piece) || unfinishedBytes(piece) == 0 && utf8.ValidString(piece)) {
		return piece
	}
	all := string(c.partial) + piece
	n := len(all) - unfinishedBytes(all)
	c.partial = append(c.partial[:0], all[n:]...)
	return strings.ToValidUTF8(all[:n], "\uFFFD")
}

// isASCII is true of most pieces, and quicker to tell than what else they may be.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Partial is the beginning of a character that is not whole yet, and SetPartial goes back to one.
func (c *Characters) Partial() string { return string(c.partial) }

// SetPartial makes p what Partial gives.
func (c *Characters) SetPartial(p string) { c.partial = append(c.partial[:0], p...) }

// unfinishedBytes is the length of an unfinished but so far valid character at the end of s.
func unfinishedBytes(s string) int {
	for n := 1; n <= min(3, len(s)); n++ {
		c := s[len(s)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// Filter rewrites the text of an answer before anybody sees it, and after stop strings and rules.
type Filter interface {
	// Filter is given the text that follows, in whole characters, and returns what is shown now in
	// the place of it and of what it kept back before. Last: nothing follows, so it keeps nothing.
	Filter(text string, last bool) (string, error)
	// Unfilter tells that the last calls do not stand any more: their tokens were taken back.
	Unfilter(calls int)
}

// filters change the text of an answer, each what the one before it shows. Without any, all
// is shown as it is, and nothing is kept.
type filters struct {
	list    []Filter
	steps   []filtered // for when tokens are taken back
	waiting string     // text that a rewind has left, which goes with the next step
	rest    string     // what is shown at the end
	over    bool
}

// filtered is a text that was given to the first filter, and what the last one made of it.
type filtered struct{ text, shown string }

// show gives the filters the text that follows.
func (f *filters) show(text string, last bool) (shown string, err error) {
	if len(f.list) == 0 {
		return text, nil
	}
	if text = f.waiting + text; text == "" && !last {
		return "", nil
	}
	f.waiting = ""
	shown = text
	for _, filter := range f.list {
		if shown, err = filter.Filter(shown, last); err != nil {
			return "", err
		}
	}
	f.steps = append(f.steps, filtered{text, shown})
	return shown, nil
}

// rewind takes the end of the text that the filters were given back, and returns what was shown of
// it. Of a step that is cut, what is left of the text is given to them again.
func (f *filters) rewind(end string) (removed string) {
	if len(f.list) == 0 {
		return end
	}
	bytes, n, gone := len(end), len(f.steps), []string(nil)
	for ; bytes > len(f.waiting) && n > 0; n-- {
		gone = append(gone, f.steps[n-1].shown)
		f.waiting = f.steps[n-1].text + f.waiting
	}
	f.waiting = f.waiting[:len(f.waiting)-bytes]
	if calls := len(f.steps) - n; calls > 0 {
		for _, filter := range f.list {
			filter.Unfilter(calls)
		}
	}
	f.steps = f.steps[:n]
	slices.Reverse(gone)
	return strings.Join(gone, "")
}
