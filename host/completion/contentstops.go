// SPDX-License-Identifier: MIT

package completion

import (
	"slices"
	"sort"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// contentStops ends an answer that has parts at the first of some texts in its content. What stands
// in reasoning, in a call or in a mark is none of it: a parser tells, which is asked only where one
// of the texts occurs.
type contentStops struct {
	stops  []string
	parser func() (chat.Parser, error)
	ends   []string // of reasoning

	text     []byte // of the answer
	shown    int    // of it, what may be shown
	from     int    // where the next of the texts may begin
	reasons  int    // up to there, the text is known to end in reasoning; 0: it is not
	searches int
	due      int // so long the text must be for the next search
}

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
	if at, stop := s.next(); stop != "" {
		at, stop, known, err := s.search(at, at+len(stop))
		switch {
		case err != nil:
			return answer.Verdict{}, err
		case stop != "":
			return answer.Verdict{End: true, Show: max(0, at-s.shown), Stop: stop}, nil
		case !known:
			return answer.Verdict{Hold: true}, nil
		}
		for at, stop := s.next(); stop != ""; at, stop = s.next() { // none of them is content
			s.from = at + 1
		}
	}
	if s.begins(string(s.text[s.from:])) {
		return answer.Verdict{Hold: true}, nil
	}
	s.from, s.shown = len(s.text), len(s.text)
	return answer.Verdict{}, nil
}

// next is the text that begins first, and where; "" if there is none.
func (s *contentStops) next() (at int, stop string) {
	rest := string(s.text[s.from:])
	for _, each := range s.stops {
		if i := strings.Index(rest, each); i >= 0 && (stop == "" || s.from+i < at) {
			at, stop = s.from+i, each
		}
	}
	return at, stop
}

// begins reports whether a text ends with a part of one of the texts, from its beginning on.
func (s *contentStops) begins(text string) bool {
	for _, stop := range s.stops {
		for n := min(len(text), len(stop)-1); n > 0; n-- {
			if text[len(text)-n:] == stop[:n] {
				return true
			}
		}
	}
	return false
}

// search looks for one of the texts in the content, and tells where in the answer it begins; "" if
// there is none so far. The first that the answer has stands at a place. Not known: what follows
// will tell whether one is content.
func (s *contentStops) search(at, end int) (_ int, stop string, known bool, err error) {
	if s.reasons > 0 && s.reasonsUntil(len(s.text)) {
		return 0, "", true, nil
	}
	if s.searches >= freeSearches && len(s.text) < s.due {
		return 0, "", false, nil
	}
	s.searches++
	s.due = len(s.text) + len(s.text)/growth
	all, err := s.parsed(len(s.text))
	if err != nil {
		return 0, "", false, err
	}
	if s.in(all.content) {
		at, stop, err = s.locate(end)
		return at, stop, true, err
	}
	before, err := s.parsed(max(at, len(s.text)-longestMark))
	if err != nil {
		return 0, "", false, err
	}
	gained := len(all.content) - len(before.content)
	if gained+all.others-before.others <= 0 && len(s.text) < end+longestMark || s.begins(all.content) {
		return 0, "", false, nil
	}
	if gained == 0 && all.reasons > before.reasons {
		s.reasons = len(s.text)
	}
	return 0, "", true, nil
}

func (s *contentStops) in(content string) bool {
	return slices.ContainsFunc(s.stops, func(stop string) bool { return strings.Contains(content, stop) })
}

// locate finds the text that is content first. The shortest beginning of the answer whose content
// has one ends with it.
func (s *contentStops) locate(from int) (at int, stop string, err error) {
	least := from + sort.Search(len(s.text)-from, func(n int) bool {
		var t told
		if err == nil {
			t, err = s.parsed(from + n)
		}
		return s.in(t.content)
	})
	for _, each := range s.stops {
		if i := strings.LastIndex(string(s.text[:least]), each); i >= 0 && (stop == "" || i+len(each) > at+len(stop) || i+len(each) == at+len(stop) && i < at) {
			at, stop = i, each
		}
	}
	return at, stop, err
}

// reasonsUntil reports whether reasoning has not ended between where it was seen and a place.
func (s *contentStops) reasonsUntil(end int) bool {
	if len(s.ends) == 0 {
		return false
	}
	for _, mark := range s.ends {
		mark = strings.TrimSpace(mark)
		if from := max(0, s.reasons-len(mark)); strings.Contains(string(s.text[from:end]), mark) {
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

// parsed takes the beginning of the answer apart.
func (s *contentStops) parsed(to int) (t told, err error) {
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
	return t, err
}

// Rewind implements answer.RewindRule.
func (s *contentStops) Rewind(_, bytes int) {
	n := max(0, len(s.text)-bytes)
	s.text, s.shown, s.reasons, s.due = s.text[:n], min(s.shown, n), 0, min(s.due, n)
	longest := 0
	for _, stop := range s.stops {
		longest = max(longest, len(stop))
	}
	s.from = min(s.from, max(0, n-longest+1))
}

// Close implements answer.StopRule.
func (*contentStops) Close() error { return nil }
