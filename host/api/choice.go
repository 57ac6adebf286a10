// SPDX-License-Identifier: MIT

package api

import (
	"strings"

	"github.com/penstock/penstock/scheduler"
)

// choice is one answer of a request as far as it has come.
type choice struct {
	index  int
	text   strings.Builder // all of it; empty when streaming
	tokens []scheduler.Token
	details
	start  scheduler.Started
	end    scheduler.End
	begun  bool // its first frame was sent
	offset int  // bytes of tokens that frames have described
}

// details are what a client may want to know of tokens besides their text.
type details struct {
	probs  []tokenProb
	traces []tokenTrace
}

func (d details) empty() bool { return len(d.probs)+len(d.traces) == 0 }

// with appends the details of more tokens.
func (d details) with(more details) details {
	return details{append(d.probs, more.probs...), append(d.traces, more.traces...)}
}
