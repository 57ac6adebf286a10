// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"io"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/ring"
)

// Kind tells the events of a stream apart.
type Kind uint8

// The kinds of events, in the order a reader sees them: Started at most once, since a request may
// end in the queue; Progress, if the request asks for it, Prompt before the first token, if it
// asks for that; Branches, if a program writes the answer and the request asks for a trace; Token
// any number of times, Rewound each time that tokens are taken back which the reader was sent, and
// Output for each value that a stage gives; End once.
const (
	KindStarted Kind = iota + 1
	KindToken
	KindEnd
	KindProgress
	KindRewound
	KindOutput
	KindPrompt
	KindBranches
)

// Event is one item of a stream.
type Event struct {
	Seq      uint64 // counts the events of a stream from 0
	Text     string // text that may be shown now; empty while it is held back. Set for KindToken and KindEnd
	Token    Token
	Kind     Kind
	Origin   chain.Origin    // with KindToken: chosen, spliced or injected; a forced token counts as chosen
	Logprobs *chain.Logprobs // with KindToken, if the request asked
	Trace    *chain.Trace    // likewise
	Started  *Started        // with KindStarted
	End      *End            // with KindEnd
	Rewound  *Rewound        // with KindRewound
	Output   *chain.Output   // with KindOutput
	Prompt   []PromptToken   // with KindPrompt: the next tokens of the prompt, of which the first of all has no probability and is in no event
	Branches *Branches       // with KindBranches
	Computed int             // with KindProgress: tokens of the prompt that are computed, those found in the KV cache included
}

// PromptToken is a token of the prompt, with how likely it was after those before it.
type PromptToken struct {
	Token    Token
	Logprobs *chain.Logprobs
}

// Started reports that the request left the queue for a slot.
type Started struct {
	Slot         int
	PromptTokens int
	CachedTokens int // of the prompt, found in the KV cache
}

// Rewound reports that the last tokens of the answer are no longer part of it.
type Rewound struct {
	Tokens int    // how many: as many Token events count no more
	Text   string // of the events so far, the end that goes with them. Text of theirs that was held back is not in it
}

// End reports how an answer ended. A stream has exactly one, its last event.
type End struct {
	Reason answer.Reason
	Err    error  // with ReasonError
	Stop   string // with ReasonStop: the stop string, if one ended it
	By     string // with ReasonStop: the stage, rule or program that ended it, as traces name it, if one did

	EndToken *answer.EndToken // with ReasonStop: the token, if one ended it that is not part of the answer

	Truncated bool // the context was too short: the answer ended for that, or the model did not see all of it at the end
	Usage     Usage
	Timing    Timing
}

// Usage counts the tokens of a request.
type Usage struct {
	Prompt    int
	Cached    int // of Prompt, not computed because the KV cache had them
	Generated int // that the reader was shown, or that ended the answer: what stages could still have taken back when it was ended is not in it
	Context   int // tokens of prompt and answer that the KV cache had at the end
	Drafted   int // tokens that were computed because a drafter guessed them
	Accepted  int // of Drafted, tokens that became part of the answer
	Branches  int // tokens that a program has put into its branches, prompts included, cached or not, less those of its other choices: what it has cost
	Opened    int // branches that it has opened, forks included
}

// Beside is how many tokens a program has had computed that are neither of the prompt nor of the
// answer.
func (u Usage) Beside() int { return max(0, u.Branches-u.Prompt-u.Generated) }

// Computed is how many tokens the request is charged for: those of the prompt, whether or not they
// were cached, those of the answer, and those beside it.
func (u Usage) Computed() int { return u.Prompt + u.Generated + u.Beside() }

// Timing is where a request's time went.
type Timing struct {
	Queued  time.Duration // submit to slot
	Prefill time.Duration // slot to first token, or the first row of a program
	Decode  time.Duration // from there to the end
}

// Stream is the answer to one request, as its reader sees it: events, of which Kind tells the order
// and the last is End. One goroutine reads at a time; the other methods may be called from
// anywhere.
//
// A reader that goes away calls Cancel; the slot is free within one tick.
type Stream struct {
	id        string
	scheduler *Scheduler
	job       *job
	ring      *ring.Ring[answer.Shown] // an event's Seq is its index there
	done      chan struct{}            // closed when it has the End event
	ended     bool                     // the reader has seen that
}

// ID is a unique name that cannot be guessed.
func (st *Stream) ID() string { return st.id }

// TryNext takes the next event if there is one.
func (st *Stream) TryNext() (Event, bool) {
	shown, seq, ok := st.ring.TryNext()
	if !ok {
		return Event{}, false
	}
	return st.took(shown, seq), true
}

// Next takes the next event and waits for it. After End it returns io.EOF; the only other error is
// the context's.
func (st *Stream) Next(ctx context.Context) (Event, error) {
	if st.ended {
		return Event{}, io.EOF
	}
	shown, seq, err := st.ring.Next(ctx)
	if err != nil {
		return Event{}, err
	}
	return st.took(shown, seq), nil
}

// Done is closed when the answer has ended, and its last event can be read.
func (st *Stream) Done() <-chan struct{} { return st.done }

// Missed counts the events that a slow reader lost under DropOldest.
func (st *Stream) Missed() uint64 { return st.ring.Missed() }

// Cancel ends the answer as cancelled within one tick. It may be called again and after the end.
func (st *Stream) Cancel() {
	st.scheduler.inbox.post(func(s *Scheduler) { s.endJob(st.job, End{Reason: answer.ReasonCancelled}) })
}

// took is the event of what the reader has taken from the ring.
func (st *Stream) took(s answer.Shown, seq uint64) Event {
	more := s.More
	if more == nil {
		return Event{Seq: seq, Kind: KindToken, Token: s.Token, Text: s.Text, Origin: s.Origin}
	}
	switch {
	case more.TakenBack > 0:
		return Event{Seq: seq, Kind: KindRewound, Rewound: &Rewound{Tokens: more.TakenBack, Text: s.Text}}
	case more.Output != nil:
		return Event{Seq: seq, Kind: KindOutput, Output: more.Output}
	case more.Other != nil:
		e := *more.Other.(*Event)
		e.Seq = seq
		st.ended = st.ended || e.Kind == KindEnd
		return e
	}
	return Event{Seq: seq, Kind: KindToken, Token: s.Token, Text: s.Text, Origin: s.Origin, Logprobs: more.Logprobs, Trace: more.Trace}
}

// send is the tick's side, for an event of the scheduler's own.
func (st *Stream) send(e Event) {
	st.push(answer.Shown{More: &answer.More{Other: &e}})
	if e.Kind == KindEnd {
		close(st.done)
	}
}

// push is the tick's side. What it pushes gets the next number.
func (st *Stream) push(s answer.Shown) {
	if st.job.req.Overflow == DropOldest {
		st.ring.Overwrite(s)
	} else {
		st.ring.Push(s)
	}
}

// nudge wakes the tick when the reader has made room again.
func (st *Stream) nudge() { st.scheduler.inbox.post(func(*Scheduler) {}) }
