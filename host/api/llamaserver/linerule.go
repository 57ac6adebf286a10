// SPDX-License-Identifier: MIT

package llamaserver

import (
	"bytes"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// lineRule ends an answer before a line that is not indented enough, or at the end of the line in
// which its time was up. It looks at the lines as llama-server does: one for each token, and the
// first only with the second token after it has begun.
type lineRule struct {
	indent int           // least spaces and tabs before each line but the first; 0: any number
	most   time.Duration // of the answer since its first token; not above 0: any
	stream bool          // all text is shown at once, as by llama-server: a line that is not indented enough stays where it was shown

	began time.Time
	text  []byte
	line  int  // where the line begins that is looked at; 0: still the first
	ended bool // the first line has
	shown int  // of text: what may be shown
}

// Check implements answer.StopRule.
func (r *lineRule) Check(_ scheduler.Token, text string) (answer.Verdict, error) {
	now := time.Now()
	if r.began.IsZero() {
		r.began = now
	}
	r.text = append(r.text, text...)
	if r.ended && r.indent > 0 {
		if at, ok := r.indented(); !ok {
			if r.stream {
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
		if r.most > 0 && now.Sub(r.began) > r.most {
			return answer.Verdict{End: true, Limit: true, Show: -1}, nil
		}
	}
	if r.mayCut() {
		return answer.Verdict{Hold: true}, nil
	}
	r.shown = len(r.text)
	return answer.Verdict{}, nil
}

// indented reports whether the line that is looked at may stand, as far as it has come, and where
// its text begins.
func (r *lineRule) indented() (at int, ok bool) {
	if r.line == 0 {
		return 0, true
	}
	at = r.line
	for at < len(r.text) && (r.text[at] == ' ' || r.text[at] == '\t') {
		at++
	}
	return at, at == len(r.text) || at-r.line >= r.indent
}

// mayCut reports whether the end of the text may be taken back by the next call.
func (r *lineRule) mayCut() bool {
	if !r.ended || r.indent == 0 || r.stream {
		return false
	}
	at, ok := r.indented()
	return r.line == 0 || !ok || at == len(r.text)
}

// Close implements answer.StopRule.
func (*lineRule) Close() error { return nil }
