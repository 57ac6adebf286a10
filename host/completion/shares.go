// SPDX-License-Identifier: MIT

package completion

import (
	"bytes"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/scheduler"
)

// shares tell to which part of an answer its tokens belong. A part is found in the text of the
// tokens that none was found for yet, in its order.
type shares struct {
	waiting  []share // of the text
	text     []byte  // that is in no part so far
	thought  bool    // the last part is reasoning
	reasoned int     // tokens of reasoning, with the marks around it
}

// share is a token and its text, or what is left of that.
type share struct {
	event   scheduler.Event
	length  int
	counted bool // as one of reasoning
	said    bool // as one of the content
}

// add takes the next event of an answer in.
func (s *shares) add(e scheduler.Event) {
	if e.Kind != scheduler.KindToken && e.Text == "" {
		return
	}
	none := e.Kind != scheduler.KindToken
	s.waiting = append(s.waiting, share{event: e, length: len(e.Text), counted: none, said: none})
	s.text = append(s.text, e.Text...)
}

// take finds the tokens of a part that the answer has gained, and returns those of content. One
// that has two parts belongs to both.
func (s *shares) take(d chat.Delta) (said []scheduler.Event) {
	part := d.Content + d.Reasoning
	if d.Call != nil {
		part = d.Call.Arguments
	}
	from := bytes.Index(s.text, []byte(part))
	to := from + len(part)
	if from < 0 { // it is written in another way
		from, to = 0, len(s.text)
	}
	at, n := 0, 0
	for ; n < len(s.waiting) && at < to; n++ {
		each := &s.waiting[n]
		end := at + each.length
		inside := end > from || each.length == 0 && at >= from
		if (d.Reasoning != "" || s.thought && !inside) && !each.counted {
			each.counted = true
			s.reasoned++
		}
		if inside && d.Content != "" && !each.said {
			each.said = true
			said = append(said, each.event)
		}
		if end > to {
			each.length = end - to
			break
		}
		at = end
	}
	s.waiting, s.text, s.thought = s.waiting[n:], s.text[to:], d.Reasoning != ""
	return said
}

// end counts what is left when the answer has ended.
func (s *shares) end() {
	for _, each := range s.waiting {
		if s.thought && !each.counted {
			s.reasoned++
		}
	}
	s.waiting, s.text = nil, nil
}
