// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
)

// kind says who writes the answer of a job. It is set where the job is made (newJob), and where an
// answer goes on without its program (job.drawByItself).
type kind uint8

const (
	kindAnswer  kind = iota // the job's one branch draws it
	kindProgram             // a program, which drives the job's branches
	kindChoice              // another job's program, as a further choice: this job has no slot
)

// job is a request on its way through the scheduler: an answer, whose one branch draws by itself,
// or a program, whose branches the program drives.
//
// What a job waits for, in the queue or in its slots, is a WaitReason.
type job struct {
	kind     kind
	drawer   drawer    // of the answer, which has the tokens, prompt first
	branches []*branch // what has slots
	program  *programRun

	stream *Stream
	status
	calls calls
	gains gains
	tally
	times times

	// Of what is below, a tick looks at little.
	req     Request          // without Prompt, Chain, Program and Begun
	scope   kvcache.Scope    // of its cells
	digests []kvcache.Digest // of its prompt, where there is a cold store to ask
	pieces  *piece.Table     // of the rows in its prompt; nil: there are none
	lasting []string         // names of the stages that stay, as plugins do
	queuePlace
}

// status is how far a job has come, and what keeps it from going on.
type status struct {
	started   bool // the Started event was sent
	paused    bool
	stalled   bool // its reader does not keep up
	done      bool
	held      *End // of a program's own answer, which has ended before its other choices
	continued bool // it went on with a conversation
}

// tally counts the tokens of a job.
type tally struct {
	counted  int // generated and released, as of the last event
	scored   int // of the prompt, after which the row was told (Request.PromptLogprobs)
	cached   int // of the prompt, found in the cache at the start
	drafted  int // computed because they were guessed
	accepted int // of them, those that became part of the answer
	spent    int // computed by a program that the answer goes on without
	opened   int // branches that this program had opened
}

// drawByItself makes a job an answer that its one branch draws.
func (j *job) drawByItself() {
	j.kind = kindAnswer
	b := newBranch(j)
	b.drawer, j.drawer.branch, j.branches = &j.drawer, b, []*branch{b}
}

// owner is the job itself.
func (j *job) owner() *job { return j }

// inSlot reports whether the job has its slots; else it is queued, or has ended.
func (j *job) inSlot() bool { return j.branches[0].slot >= 0 }

// generates reports whether a branch of the job computes one token a tick. So does one whose next
// token a background sampler draws: its tokens cannot be looked at meanwhile. A program at work
// counts, too.
func (j *job) generates() bool {
	return j.drawer.background.Busy() || j.kind == kindProgram && j.program.AtWork() ||
		slices.ContainsFunc(j.branches, func(b *branch) bool { return b.busy() || b.generating() })
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
// wait for the background sampler were tried before it is asked). It notes in stalled whether the
// reader keeps up; if not, the ring wakes the tick once it does (Stream.nudge). While the job is
// paused or its background sampler is at work, the reader is not looked at, and stalled stays.
func (j *job) checkReady() bool {
	if j.paused || j.drawer.background.Busy() || j.restTime() > 0 {
		return false
	}
	j.stalled = !j.keepsUp() || j.kind == kindProgram && !j.choicesKeepUp()
	return !j.stalled && len(j.calls.waiting) == 0
}

// restTime is how long the stages or the program of a job have used up their processor time from
// now on; 0 or less: they have not.
func (j *job) restTime() time.Duration {
	rest := j.drawer.background.Rest()
	if j.kind == kindProgram {
		rest = max(rest, j.program.Rest())
	}
	return rest
}

// parked reports whether the job cannot go on for as long as its client wants: it is paused, or
// its reader does not keep up.
func (j *job) parked() bool { return j.paused || j.stalled }

// branch is a list of tokens on its way into the KV cache: what a slot computes. Jobs wait, are
// preempted and end as a whole; their branches are what a tick plans.
//
// seq holds the KV cells of the first part of the tokens. Tokens that are not in seq are pending:
// many tokens while prefilling or after a preemption, exactly one while generating.
type branch struct {
	job    *job
	drawer *drawer // of the branch's next token: it goes on by itself; nil: its program reads its rows

	// What each tick looks at comes first, in branch and job: with many slots the processor's
	// caches have no room for all of a job.
	seq       *kvcache.Sequence // nil while it has no cells
	slot      int               // -1 while its job is queued
	scheduled int               // tokens in this tick's batch
	outputRow int               // output row of this tick's pass, -1 for none
	with      Adapters          // that compute what is scheduled

	prefilledAtEntry int // Scheduler.prefilled when it got the slot
	lastChunkTick    int // Scheduler.ticks when it last got a part of a chunk, or else the slot

	// Of a program's branch.
	state    program.Kept
	shelved  bool // it has lost cells for want of others: it gets some again when there is room for all
	scoredTo int  // no score of a token before is yet to be computed
}

func newBranch(j *job) *branch { return &branch{job: j, slot: -1, outputRow: -1} }

// owner is the job that the branch is of.
func (b *branch) owner() *job { return b.job }

// tokens are those that the branch is to hold.
func (b *branch) tokens() []Token {
	if b.drawer != nil {
		return b.drawer.answer.Context()
	}
	return b.state.Tokens
}

// computed is how many of them the KV cache holds.
func (b *branch) computed() int {
	if b.seq == nil {
		return 0
	}
	return b.seq.Len()
}

// pending is how many tokens the KV cache still lacks.
func (b *branch) pending() int { return len(b.tokens()) - b.computed() }

// sequence is the number of its sequence in the KV cache, or -1.
func (b *branch) sequence() int {
	if b.seq == nil {
		return -1
	}
	return int(b.seq.ID())
}

// awake reports whether the branch is to be computed: it goes on by itself, or its program waits
// for it.
func (b *branch) awake() bool { return b.drawer != nil || b.state.Wanted }

// busy reports whether a background sampler draws the branch's next token: its tokens are the
// background sampler's.
func (b *branch) busy() bool { return b.drawer != nil && b.drawer.background.Busy() }

// generating reports whether the branch computes one token a tick; one that does not is prefilling.
// So is an answer's until its first token.
func (b *branch) generating() bool {
	begun := b.job.kind == kindProgram || b.job.drawer.answer.Generated() > 0
	return begun && b.awake() && b.pending() == 1
}

// toldAs is the number of a program's branch, as its reader knows it where the answer has a trace,
// and how many tokens it has.
func (b *branch) toldAs() (number uint64, tokens int) {
	if number = b.state.Number; b.state.Told > 0 {
		number = uint64(b.state.Told)
	}
	return number, len(b.state.Tokens)
}
