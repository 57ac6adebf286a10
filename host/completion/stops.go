// SPDX-License-Identifier: MIT

package completion

import (
	"bytes"
	"errors"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// contentStops ends an answer that has parts at the first of some texts in its content. What stands
// in reasoning, in a call or in a mark is none of it: a parser tells, which is asked only where one
// of the texts occurs. An answer that breaks its format is all content.
type contentStops struct {
	stops  []string
	parser func() (chat.Parser, error)
	ends   []string // of reasoning

	text  []byte // of the answer
	shown int    // of it, what may be shown
	seen  int    // so much of it has none of the texts in its content
	found place  // of the text that is to be told of

	reasons  int  // up to there, the text is known to end in reasoning; 0: it is not
	spoke    bool // the parser has told something
	broken   bool // the parser has given up
	searches int
	due      int // so long the text must be for the next search
}

// place is where one of the texts is; with no stop, nowhere.
type place struct {
	at   int
	stop string
}

func (p place) end() int { return p.at + len(p.stop) }

// The parser reads all of the answer each time. So after the first searches the text must have
// grown by an eighth for the next, and what is found until then waits.
const (
	freeSearches = 16
	growth       = 8
	longestMark  = 256 // behind which it is known what a text belongs to
)

// newContentStops makes the rule for an answer to a prompt.
func newContentStops(p chat.Prompt, stops []string) *contentStops {
	return &contentStops{stops: stops, parser: p.NewParser, ends: p.ThinkingEnds}
}

// Check implements answer.StopRule.
func (s *contentStops) Check(_ scheduler.Token, text string) (answer.Verdict, error) {
	s.text = append(s.text, text...)
	free := len(s.text) - s.begunBytes(s.text)
	if s.found.stop == "" {
		s.found = s.next()
	}
	if s.found.stop != "" {
		is, known, err := s.findText()
		switch {
		case err != nil:
			return answer.Verdict{}, err
		case is.stop != "":
			return answer.Verdict{End: true, Show: max(0, is.at-s.shown), Stop: is.stop}, nil
		case !known:
			return s.show(min(free, s.found.at)), nil
		}
		s.found = place{}
	}
	s.seen = len(s.text)
	return s.show(free), nil
}

// show has the text be shown up to a position.
func (s *contentStops) show(to int) answer.Verdict {
	more := max(0, to-s.shown)
	s.shown += more
	return answer.Verdict{Hold: s.shown < len(s.text), Show: more}
}

// next is where the first of the texts is that were not seen yet.
func (s *contentStops) next() (first place) {
	for _, stop := range s.stops {
		from := max(0, s.seen-len(stop)+1)
		if i := bytes.Index(s.text[from:], []byte(stop)); i >= 0 && (first.stop == "" || from+i < first.at) {
			first = place{from + i, stop}
		}
	}
	return first
}

// begunBytes is how many bytes at the end of a text may be the beginning of one of the texts.
func (s *contentStops) begunBytes(text []byte) (most int) {
	for _, stop := range s.stops {
		most = max(most, answer.Overlap(string(text[max(0, len(text)-len(stop)):]), stop))
	}
	return most
}

// findText looks for one of the texts in the content, from the one that was found on; it is nowhere
// if there is none so far. Not known: what follows will tell whether one is content.
func (s *contentStops) findText() (is place, known bool, err error) {
	switch {
	case s.broken:
		return s.found, true, nil
	case s.reasons > 0 && s.reasonsUntil(len(s.text)):
		return place{}, true, nil
	case s.searches >= freeSearches && len(s.text) < s.due:
		return place{}, false, nil
	}
	s.searches++
	s.due = len(s.text) + len(s.text)/growth
	is, known, err = s.parse()
	if errors.Is(err, chat.ErrFormat) {
		s.broken = true
		return s.found, true, nil
	}
	return is, known, err
}

// parse is search by the parser.
func (s *contentStops) parse() (_ place, known bool, err error) {
	all, err := s.parseBeginning(len(s.text))
	if err != nil {
		return place{}, false, err
	}
	if s.isIn(all.content) {
		is, err := s.locateFirst(s.found.end())
		return is, true, err
	}
	before, err := s.parseBeginning(max(s.found.at, len(s.text)-longestMark))
	if err != nil {
		return place{}, false, err
	}
	late := len(s.text) >= s.found.end()+longestMark
	if all.size() == 0 && (s.spoke || late) { // the parser says nothing of what it cannot read
		s.broken = true
		return s.found, true, nil
	}
	if all.size() <= before.size() && !late || s.begunBytes([]byte(all.content)) > 0 {
		return place{}, false, nil
	}
	if len(all.content) == len(before.content) && all.reasons > before.reasons {
		s.reasons = len(s.text)
	}
	return place{}, true, nil
}

func (s *contentStops) isIn(content string) bool {
	return slices.ContainsFunc(s.stops, func(stop string) bool { return strings.Contains(content, stop) })
}

// locateFirst finds the text that is content first. The shortest beginning of the answer whose
// content has one ends with it.
func (s *contentStops) locateFirst(from int) (last place, err error) {
	least := from + sort.Search(len(s.text)-from, func(n int) bool {
		var t told
		if err == nil {
			t, err = s.parseBeginning(from + n)
		}
		return s.isIn(t.content)
	})
	for _, stop := range s.stops {
		i := bytes.LastIndex(s.text[:least], []byte(stop))
		if is := (place{i, stop}); i >= 0 && (is.end() > last.end() || is.end() == last.end() && i < last.at) {
			last = is
		}
	}
	return last, err
}

// reasonsUntil reports whether reasoning has not ended between where it was seen and a place.
func (s *contentStops) reasonsUntil(end int) bool {
	if len(s.ends) == 0 {
		return false
	}
	for _, mark := range s.ends {
		mark = strings.TrimSpace(mark)
		if from := max(0, s.reasons-len(mark)); bytes.Contains(s.text[from:end], []byte(mark)) {
			return false
		}
	}
	s.reasons = end
	return true
}

// told is what a parser tells of an answer.
type told struct {
	content         string
	reasons, others int // bytes of reasoning, and of all that is no content
}

func (t told) size() int { return len(t.content) + t.others }

// parseBeginning takes the beginning of the answer apart.
func (s *contentStops) parseBeginning(to int) (t told, err error) {
	p, err := s.parser()
	if err != nil {
		return t, err
	}
	deltas, err := p.Add(string(s.text[:to]), false)
	if closed := p.Close(); err == nil {
		err = closed
	}
	var content strings.Builder
	for _, d := range deltas {
		content.WriteString(d.Content)
		t.reasons += len(d.Reasoning)
		t.others += len(d.Reasoning)
		if d.Call != nil {
			t.others += len(d.Call.Name) + len(d.Call.Arguments)
		}
	}
	t.content = content.String()
	s.spoke = s.spoke || t.size() > 0
	return t, err
}

// Rewind implements answer.RewindRule.
func (s *contentStops) Rewind(_, taken int) {
	n := max(0, len(s.text)-taken)
	s.text, s.shown, s.seen, s.due = s.text[:n], min(s.shown, n), min(s.seen, n), min(s.due, n)
	s.found, s.reasons, s.spoke, s.broken = place{}, 0, false, false
}

// Close implements answer.StopRule.
func (*contentStops) Close() error { return nil }

// LineRule ends an answer before a line that is not indented enough, or at the end of the line in
// which its time was up. It looks at the lines as llama-server does: one for each token, and the
// first only with the second token after it has begun. The zero value is none.
type LineRule struct {
	Indent int           // least spaces and tabs before each line but the first; 0: any number
	Most   time.Duration // of the answer since its first token; 0: any
	Stream bool          // all text is shown at once, as by llama-server: a line that is not indented enough stays where it was shown
}

// lines looks at the lines of one answer.
type lines struct {
	LineRule

	began time.Time
	text  []byte
	line  int  // where the line begins that is looked at; 0: still the first
	ended bool // the first line has
	shown int  // of text: what may be shown
}

// Check implements answer.StopRule.
func (r *lines) Check(_ scheduler.Token, text string) (answer.Verdict, error) {
	now := time.Now()
	if r.began.IsZero() {
		r.began = now
	}
	r.text = append(r.text, text...)
	if r.ended && r.Indent > 0 {
		if at, ok := r.checkIndent(); !ok {
			if r.Stream {
				return answer.Verdict{End: true, Limit: true, Show: -1}, nil
			}
			return answer.Verdict{End: true, Limit: true, Show: max(0, at-r.shown)}, nil
		}
		if i := bytes.IndexByte(r.text[r.line:], '\n'); i >= 0 {
			r.line += i + 1
		}
	}
	if bytes.IndexByte([]byte(text), '\n') >= 0 {
		r.ended = true
		if r.Most > 0 && now.Sub(r.began) > r.Most {
			return answer.Verdict{End: true, Limit: true, Show: -1}, nil
		}
	}
	if r.mayCut() {
		return answer.Verdict{Hold: true}, nil
	}
	r.shown = len(r.text)
	return answer.Verdict{}, nil
}

// checkIndent reports whether the line that is looked at may stand, as far as it has come, and
// where its text begins.
func (r *lines) checkIndent() (at int, ok bool) {
	if r.line == 0 {
		return 0, true
	}
	at = r.line
	for at < len(r.text) && (r.text[at] == ' ' || r.text[at] == '\t') {
		at++
	}
	return at, at == len(r.text) || at-r.line >= r.Indent
}

// mayCut reports whether the end of the text may be taken back by the next call.
func (r *lines) mayCut() bool {
	if !r.ended || r.Indent == 0 || r.Stream {
		return false
	}
	at, ok := r.checkIndent()
	return r.line == 0 || !ok || at == len(r.text)
}

// Close implements answer.StopRule.
func (*lines) Close() error { return nil }
