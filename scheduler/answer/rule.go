// SPDX-License-Identifier: MIT

package answer

import "github.com/penstock/penstock/scheduler/chain"

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
