// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
)

// job is a request on its way through the scheduler.
//
// answer has the tokens, prompt first. The branch computes them, or where a program writes the
// answer, the program has branches of its own.
//
// What a job waits for, in the queue or in its slots, is a WaitReason.
type job struct {
	branch
	drawer // of that branch

	program  *program.Run // of the program that writes the answer; nil: none does
	writer   *job         // whose program writes the answer, if that is another's
	pieces   *piece.Table // of the rows in its prompt; nil: there are none
	stream   *Stream
	branches []*branch // what has slots: that one, or those of the program
	choices  []*job    // of a program that writes several answers: all, its own first
	started  bool      // the Started event was sent
	paused   bool
	stalled  bool // its reader does not keep up
	done     bool
	calls    calls
	guess    guess

	times     times
	counted   int  // tokens generated and released, as of the last event
	scored    int  // tokens of the prompt after which the row was told (Request.PromptLogprobs)
	cached    int  // prompt tokens found in the cache at the start
	continued bool // it went on with a conversation
	drafted   int  // tokens computed because they were guessed
	accepted  int  // of them, those that became part of the answer

	req   Request       // without Prompt and Chain
	scope kvcache.Scope // of its cells

	lasting []string // names of the stages that stay, as plugins do

	// In the queue.
	arrival          uint64    // counts requests
	effectiveArrival time.Time // arrival time, made earlier by its priority
	queued           time.Time // when it came, or lost its slots
	leader           *branch   // computes a prefix of this one's prompt, which waits for that
	sharedLen        int       // how many tokens that prefix has

	adopted bool           // a program has returned that the answer goes on without
	spent   int            // tokens that it had computed
	opened  int            // branches that it had opened
	held    *End           // of a program's own answer, which has ended before others
	lent    []*program.Row // to the program or its branches, from the last pass
	over    chan struct{}  // of a program: closed at the end
	placed  bool           // of a program: a branch has had cells
	tellAt  time.Time      // of a program: its branches are not told of before
}

// owner is the job itself.
func (j *job) owner() *job { return j }

// inSlot reports whether the job has its slots; else it is queued, or has ended.
func (j *job) inSlot() bool { return j.branches[0].slot >= 0 }

// generates reports whether a branch of the job computes one token a tick. What a busy background
// sampler has is its own, and it is generating; so is a program at work.
func (j *job) generates() bool {
	return j.background.Busy() || j.program != nil && j.program.AtWork() || slices.ContainsFunc(j.branches, (*branch).generates)
}

// lackedTokens is how many tokens of the job the KV cache still lacks.
func (j *job) lackedTokens() (n int) {
	for _, b := range j.branches {
		if b.awake() && !b.busy() {
			n += b.pending()
		}
	}
	return n
}

// tickEvents is how many events a tick adds to a stream as a rule: the start, a token and the end.
// If it adds more (all of the hold window, a whole splice), the ring grows.
const tickEvents = 3

// keepsUp reports whether the reader has left room for what a tick adds.
func (j *job) keepsUp() bool {
	return j.req.Overflow == DropOldest || j.stream.ring.Reserve(tickEvents)
}

// checkReady reports whether the job may take part in this tick: not paused, background sampler
// neither busy nor resting, reader keeping up, no control call waiting for the reader (those that
// wait for the background sampler were tried before it is asked). If the reader does not keep up,
// the ring wakes the tick once it does (Stream.nudge). While the job is paused or its background
// sampler is at work, the reader is not looked at: stalled is as it was before.
func (j *job) checkReady() bool {
	if j.paused || j.background.Busy() || j.background.Resting() || j.program.Rest() > 0 {
		return false
	}
	j.stalled = !j.choicesKeepUp()
	return !j.stalled && len(j.calls.waiting) == 0
}

// parked reports whether the job cannot go on for as long as its client wants: it is paused, or
// its reader does not keep up.
func (j *job) parked() bool { return j.paused || j.stalled }

// needsBackground reports whether an answer with these stages needs a goroutine of its own: for
// plugins and stop rules, or for log-probabilities and traces, which cost more than a draw.
func (j *job) needsBackground(stages []chain.Stage) bool {
	return j.metered(stages) || !j.byProgram() && (j.req.Trace > 0 || j.req.Logprobs >= 0)
}

// metered reports whether an answer with these stages has code in it that may take any time:
// plugins, or stop rules.
func (j *job) metered(stages []chain.Stage) bool {
	return !chain.Native(stages) && !(j.byProgram() && len(stages) == 0) || len(j.req.Rules) > 0
}

// open begins a job's answer: on the tick if that is quick, else with a background sampler.
func (s *Scheduler) open(j *job) {
	early := len(j.answer.Early()) > 0
	if stages := j.chain.Stages(); j.needsBackground(stages) || early && chain.Guarded(stages) {
		s.giveBackground(&j.drawer, j.metered(stages) || early)
	} else if err := panics.Try(j.answer.Begin); err != nil {
		j.answer.Fail(err)
		s.emitOne(j)
		return
	}
	if early {
		s.perform(j, &pendingCall{call: call{work: func(a *answer.Answer) error { a.InjectEarly(); return nil }}}) // nobody waits for it
	}
}

// fail ends a job whose stages could not begin, at once and not after its prompt was computed. A
// busy background sampler does it itself.
func (s *Scheduler) fail(j *job, err error) {
	if !j.done && !j.background.Busy() {
		j.answer.Fail(err)
		s.emitOne(j)
	}
}

// close frees stages and rules. If there is a background sampler, it does that itself: they may be
// at work.
func (j *job) close() {
	if j.background != nil {
		j.background.Close()
	} else {
		j.answer.Close()
	}
}
