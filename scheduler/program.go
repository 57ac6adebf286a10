// SPDX-License-Identifier: MIT

package scheduler

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/program"
)

// This file computes what programs ask for (package program). A program has a job like any other,
// with a slot for each branch that it may have. It works on a goroutine of its own until it waits;
// then the tick takes its turn: it does to the job's branches what the program has done to its
// own, sends what it has shown, and plans the branches that are waited for beside all others. When
// their rows are there, the program goes on. What else happens to answers, happens to it as a
// whole: it waits for all its slots, is paused, preempted and ended.
//
// Only what is waited for is computed, so a branch gets cells late: a fork then shares all that
// others have computed of it, and of several that lack the same, one computes it first. When cells
// run out, a program's own branches make room before others do.

// programRun is a program at work, and what its job has for it. The jobs of its further choices
// have the same one.
type programRun struct {
	*program.Run
	main    *job           // whose slots its branches have
	choices []*job         // main first
	lent    []*program.Row // to the program or its branches, from the last pass
	over    chan struct{}  // closed at the end
	adopted bool           // it has returned that main goes on without it
	placed  bool           // a branch has had cells
	tellAt  time.Time      // its branches are not told of before
}

// newRun checks the program of a request and makes its run.
func (s *Scheduler) newRun(j *job, r *Request, prompt []Token) error {
	p := r.Program
	switch {
	case p.Branches < 1 || p.Branches > len(s.slots):
		return fmt.Errorf("%w: a program with %d branches, there are %d slots", ErrBadRequest, p.Branches, len(s.slots))
	case r.Slot != nil:
		return fmt.Errorf("%w: slot %d for a program, whose branches take any", ErrBadRequest, *r.Slot)
	case r.Shift != nil:
		return fmt.Errorf("%w: a context that is shifted, for a program, whose branches end where it is full", ErrBadRequest)
	case len(r.Begun.Tokens) > 0 || r.PromptLogprobs || r.NoAnswer:
		return fmt.Errorf("%w: an answer that has begun, or log-probabilities of the prompt, for a program, which computes what it shows", ErrBadRequest)
	}
	longest := s.limits.longest()
	tokens := p.Tokens
	if tokens == 0 {
		most := longest
		if r.MaxTokens > 0 {
			most = min(r.MaxTokens, longest)
		}
		tokens = program.DefaultTokens(len(prompt), most, p.Branches)
	}
	summarizer, ok := s.backend.(program.Summarizer)
	if !ok {
		summarizer = program.Portable{}
	}
	ends := func(t Token) bool {
		return !r.IgnoreEOG && s.backend.EndOfGeneration(t) || slices.Contains(r.StopTokens, t)
	}
	state := 0
	if p.HiddenStates {
		state = s.limits.HiddenState
	}
	j.program = &programRun{main: j, choices: []*job{j}, over: make(chan struct{})}
	j.program.Run = program.New(p, program.Options{Prompt: slices.Clone(prompt), Pieces: j.heldPieces(), Vocabulary: s.limits.Vocabulary, HiddenState: state, Longest: longest - 1, Tokens: tokens,
		Traced: r.Trace > 0, Summarizer: summarizer, Masker: s.backend, Ends: ends, Wake: s.inbox.signal})
	j.branches = make([]*branch, p.Branches)
	for i := range j.branches {
		j.branches[i] = newBranch(j)
	}
	if !r.CachePrompt {
		j.scope.Salt = j.scope.Salt + "\x00" + rand.Text() // what others have computed is none of its own, though its branches share
	}
	return nil
}

// openProgram lets a program begin once the stages of its job have.
func (s *Scheduler) openProgram(j *job) {
	for _, c := range j.program.choices {
		if !c.done && c.drawer.background != nil && !c.drawer.background.Busy() {
			s.performCall(c, &pendingCall{call: call{work: func(*answer.Answer) error { return nil }}}) // collect goes on
		}
	}
	s.goOnWithProgram(j)
}

// goOnWithProgram lets a program go on if nothing is left to be done that it waits for.
func (s *Scheduler) goOnWithProgram(j *job) {
	defer s.blame(j)
	switch {
	case j.done || j.choicesBusy():
		return
	case !j.program.Started():
		j.program.Start()
		run := j.program
		s.goroutines.Go(func() {
			run.Main()
			if <-run.over; !run.adopted {
				j.drawer.close() // not before: the program's stages may be its own
			}
		})
	case !j.program.Waits() || !j.hasRows():
		return
	case j.program.HasReturned():
		s.leaveProgram(j)
		return
	default:
		s.answerProgram(j)
		j.tellEnded()
		j.program.Answer()
	}
	s.programs = append(s.programs, j)
	s.sampling.programs = append(s.sampling.programs, j)
}

// hasRows reports whether the rows that a program waits for are there.
func (j *job) hasRows() bool {
	branches, anyOf := j.program.Waiting()
	lacking := func(b *program.Branch) bool { return j.branches[b.Index()].state.Lacks() }
	if anyOf && len(branches) > 0 {
		return slices.ContainsFunc(branches, func(b *program.Branch) bool { return !lacking(b) })
	}
	return !slices.ContainsFunc(branches, lacking)
}

// answerProgram gives a program what it has waited for.
func (s *Scheduler) answerProgram(j *job) {
	branches, _ := j.program.Waiting()
	for _, b := range branches {
		if of := j.branches[b.Index()]; !of.state.Lacks() {
			b.Deliver(&of.state)
			j.times.drawnFrom(s.config.Clock())
		}
	}
}

// takeOverPrograms takes over what programs have done that wait by now.
func (s *Scheduler) takeOverPrograms() {
	all := s.programs
	s.programs, s.programsSpare = s.programsSpare[:0], all // those that go on come back
	for i, j := range all {
		all[i] = nil
		switch {
		case j.done:
		case !s.collectProgram(j) || j.choicesBusy() || !j.checkReady():
			s.programs = append(s.programs, j)
		default:
			s.takeOverProgram(j)
		}
	}
}

// collectProgram collects from a program that was at work, and reports whether it waits.
func (s *Scheduler) collectProgram(j *job) bool {
	if !j.program.AtWork() {
		return true
	}
	select {
	case <-j.program.Done():
		j.program.Collect()
		return true
	default:
		return false
	}
}

// takeOverProgram takes over what a program has done since it was answered.
func (s *Scheduler) takeOverProgram(j *job) {
	defer s.blame(j)
	j.program.MarkTaken()
	for i, b := range j.branches {
		if of := j.program.Branch(i); b.state.Number != 0 && !of.Is(b.state.Number) {
			j.program.Charge(b.untoldDraws())
			s.stopSelfRun(b)
			s.dropCells(b)
			b.state, b.shelved, b.scoredTo = program.Kept{}, false, 0
		}
	}
	for i, b := range j.branches { // after all that make room
		if of := j.program.Branch(i); of != nil {
			s.updateBranch(b, of)
		}
	}
	branches, _ := j.program.Waiting()
	for _, of := range branches {
		b := j.branches[of.Index()]
		b.state.Wanted = b.state.Lacks() && b.drawer == nil
	}
	shown := j.program.TakeShown()
	returned, err := j.program.Returned()
	if len(shown) == 0 && !returned {
		s.goOnWithProgram(j)
		return
	}
	s.showChoices(j, shown, returned, err)
	s.goOnWithProgram(j) // or collect goes on
}

// updateBranch does to a branch what the program has done to its own.
func (s *Scheduler) updateBranch(b *branch, of *program.Branch) {
	if b.drawer != nil {
		return // it is as the tick has it
	}
	same := of.Update(&b.state)
	b.scoredTo = min(b.scoredTo, same)
	if b.seq != nil {
		if b.seq.Len() > same {
			s.cache.Truncate(b.seq, same)
		}
		s.dropUnscored(b)
	}
	s.runBranch(b, of)
}

// dropCells takes the cells of a branch that is not to go on.
func (s *Scheduler) dropCells(b *branch) {
	if b.seq != nil {
		s.cache.Drop(b.seq)
		b.seq, b.outputRow, b.scheduled = nil, -1, 0
	}
}

// placeBranches gets sequences for branches that are to be computed. Where a memory cannot be cut,
// all get them while what they share is at its end.
func (s *Scheduler) placeBranches() {
	each(s, s.order, func(_ int, j *job) {
		if j.kind != kindProgram || !j.checkReady() {
			return
		}
		for _, b := range j.branches {
			if b.state.Number != 0 && b.seq == nil && !b.busy() && (b.awake() || s.cache.ForksAtEnds()) {
				s.placeBranch(b)
			}
		}
	})
}

// placeBranch gets a branch its sequence, unless another is computing what it lacks, or cells or a
// copy have to be waited for.
func (s *Scheduler) placeBranch(b *branch) {
	j, tokens := b.job, b.tokens()
	if b.state.Row != nil {
		tokens = append(slices.Clone(tokens), 0) // nothing of it is to be computed: all of it can be shared
	}
	if b.shelved && !s.fitsAgain(b) {
		return
	}
	if s.cache.Shares() {
		if leader, _ := s.findLeader(b, tokens, 0); leader != nil {
			return
		}
	}
	prompt := min(j.drawer.answer.PromptLen(), len(b.tokens()))
	seq, _ := s.cache.Acquire(kvcache.Claim{Tokens: tokens, PromptLen: prompt, Scope: j.scope, Reuse: true})
	if seq == nil {
		return
	}
	b.seq, b.shelved = seq, false
	if !j.program.placed {
		j.program.placed, j.cached = true, min(seq.Len(), prompt)
	}
	s.dropUnscored(b)
	b.chooseAdapters()
}

// shelveBranch takes the cells of a program's branch, b excepted, that this tick does not compute,
// of one that is not waited for if there is any: it is computed again when it is wanted. It reports
// whether there was one.
func (s *Scheduler) shelveBranch(j *job, b *branch) bool {
	if j.kind != kindProgram {
		return false
	}
	for _, awake := range [2]bool{false, true} {
		for _, other := range slices.Backward(j.branches) {
			if other != b && other.computed() > 0 && other.awake() == awake && !slices.Contains(s.planned, other) {
				s.dropCells(other)
				other.shelved = true
				return true
			}
		}
	}
	return false
}

// fitsAgain reports whether a branch whose cells others have taken gets some again: if there is
// room for all of its tokens beside what goes before it, or if nothing does. Else they would take
// turns in computing what the next one throws away.
func (s *Scheduler) fitsAgain(b *branch) bool {
	tokens, ahead := b.tokens(), false
	need := len(tokens) + headroom - s.cache.SharedPrefix(tokens, b.job.scope)
	for _, j := range s.running {
		for _, other := range j.branches {
			if other.seq == nil || !other.awake() || j.parked() {
				continue
			}
			ahead = true
			if need += headroom; !other.busy() && !j.drawer.background.Busy() {
				need += other.pending()
			}
		}
		if j == b.job {
			break
		}
	}
	return !ahead || s.cache.HasRoom(need)
}

// errNoBranchRow ends an answer whose program waits for a row that the backend did not give.
var errNoBranchRow = errors.New("the backend gave no row for a branch of a program")

// lendRow lends a branch the row that a pass has for it.
func (s *Scheduler) lendRow(b *branch) {
	logits := s.backend.Row(b.outputRow)
	if logits == nil {
		s.endJob(b.job, End{Reason: answer.ReasonError, Err: errNoBranchRow})
		return
	}
	var state []float32
	if b.job.program.HiddenState() > 0 {
		state = slices.Clone(s.backend.HiddenState(b.job.program.StateLayer(), b.outputRow))
	}
	b.state.Row, b.state.Wanted = program.Lend(logits, state), false
	lent := &b.job.program.lent
	*lent = append(*lent, b.state.Row)
	s.sampling.lent = true
}

// resumePrograms lets those programs go on that have waited for the rows of a pass.
func (s *Scheduler) resumePrograms(branches []*branch) {
	if !s.sampling.lent {
		return
	}
	for _, b := range branches {
		if j := b.job; j.kind == kindProgram && !j.done {
			s.goOnWithProgram(j)
		}
	}
}

// awaitProgram waits until a program waits again, but not long, as for a background sampler.
func (s *Scheduler) awaitProgram(j *job, rang bool) bool {
	if !rang && j.program.AtWork() && j.program.Awaited() {
		select {
		case <-j.program.Done():
			j.program.Collect()
		case <-s.sampling.alarm.C:
			rang = true
		}
	}
	j.program.Settle()
	return rang
}

// recallRows takes the rows back that are lent, before a pass overwrites them. Those that a branch
// or a program at work may still read are copied.
func (s *Scheduler) recallRows() {
	if !s.sampling.lent {
		return
	}
	s.sampling.lent = false
	for _, j := range s.running {
		s.recallRowsOf(j)
	}
	for _, j := range s.queue.jobs { // it was preempted
		s.recallRowsOf(j)
	}
}

func (s *Scheduler) recallRowsOf(j *job) {
	if j.kind != kindProgram {
		return
	}
	p := j.program
	for _, row := range p.lent {
		if p.AtWork() || slices.ContainsFunc(j.branches, func(b *branch) bool { return b.state.Row == row }) {
			row.Recall()
		} else {
			row.Revoke()
		}
	}
	clear(p.lent)
	p.lent = p.lent[:0]
}

// endProgram ends the program of a job that has ended. Its stages are closed when it has returned.
func (s *Scheduler) endProgram(j *job) {
	for _, row := range j.program.lent {
		row.Revoke()
	}
	j.program.lent = nil
	for _, b := range j.branches {
		s.stopSelfRun(b)
	}
	j.program.Interrupt()
	if close(j.program.over); !j.program.Started() {
		j.drawer.close()
	}
}

// dropAllButOne drops the branches of a program that loses its slots, except the one that a later
// request is most likely to continue: that which has most of the answer, and of those the longest.
func (s *Scheduler) dropAllButOne(j *job) {
	if j.kind != kindProgram {
		return
	}
	var best *branch
	common := -1
	for _, b := range j.branches {
		if b.seq == nil {
			continue
		}
		n := 0
		if !j.drawer.background.Busy() && !b.busy() {
			n = kvcache.CommonPrefix(b.tokens()[:b.seq.Len()], j.drawer.answer.Context())
		}
		if n > common || n == common && b.seq.Len() > best.seq.Len() {
			best, common = b, n
		}
	}
	for _, b := range j.branches {
		if b != best {
			s.dropCells(b)
		}
	}
}

// errProgram refuses what would change an answer that a program writes.
func (j *job) errProgram(what string) error {
	if j.kind == kindAnswer {
		return nil
	}
	return fmt.Errorf("%w: %s an answer that a program writes", ErrBadRequest, what)
}

// Branches tells what has become of the branches of a program.
type Branches struct {
	Grown   []program.Grown
	LeftOut int // in the last one: tokens of branches that were not told, since there were too many
}

// How often branches are told of, and how much at a time.
const (
	growthTime    = 100 * time.Millisecond
	mostEntries   = 256
	mostGrownTold = 1024 // tokens
)

// tellBranches tells the readers of answers with a trace what has become of their programs'
// branches, and asks for a tick when it is time for more.
func (s *Scheduler) tellBranches(now time.Time) {
	for _, jobs := range [2][]*job{s.running, s.queue.jobs} {
		for _, j := range jobs {
			switch {
			case j.kind != kindProgram || j.program.Grown() == 0 || j.stalled:
			case now.Before(j.program.tellAt):
				s.tickAt(j.program.tellAt)
			default:
				j.tellGrown()
				j.program.tellAt = now.Add(growthTime)
				if j.program.Grown() > 0 {
					s.tickAt(j.program.tellAt)
				}
			}
		}
	}
}

// tellGrown tells a job's reader of as much as is told at a time.
func (j *job) tellGrown() {
	j.stream.send(Event{Kind: KindBranches, Branches: &Branches{Grown: j.program.TakeGrown(mostEntries, mostGrownTold)}})
}

// tellAllGrown tells the reader of a job that ends all that is left, and how much was left out.
func (j *job) tellAllGrown() {
	if j.kind != kindProgram {
		return
	}
	for j.program.Grown() > 0 {
		j.tellGrown()
	}
	if n := j.program.LeftOut(); n > 0 {
		j.stream.send(Event{Kind: KindBranches, Branches: &Branches{LeftOut: n}})
	}
}

// A program may write several answers, the choices of a request. The first belongs to the program's
// own job, which has the slots. Each other has a job with a stream, an answer and stages, which is
// in no queue and no slot: it gets what the program shows. It ends with its last token; the first
// one's end is told when all others have ended, or the program has.
//
// When the program has returned, choices may go on without it, as its branches
// (program.Run.Adopt). Their jobs wait for a slot like any other that had one before, and find the
// cells of the branches in the cache.

// main is the job whose program writes the answer, or the job itself.
func (j *job) main() *job {
	if j.kind == kindChoice {
		return j.program.main
	}
	return j
}

// addChoice makes a job another choice of a program's.
func (j *job) addChoice(other *job) {
	other.branches = []*branch{newBranch(other)}
	other.program = j.program
	j.program.choices = append(j.program.choices, other)
	j.program.AddChoice()
}

// choicesBusy reports whether a background sampler of a program's choices is busy.
func (j *job) choicesBusy() bool {
	return slices.ContainsFunc(j.program.choices, func(c *job) bool { return !c.done && c.drawer.background.Busy() })
}

// choicesKeepUp reports whether the readers of all choices do.
func (j *job) choicesKeepUp() bool {
	return !slices.ContainsFunc(j.program.choices, func(c *job) bool { return !c.done && !c.keepsUp() })
}

// othersGoOn reports whether a choice besides a program's first has not ended.
func (j *job) othersGoOn() bool {
	return slices.ContainsFunc(j.program.choices, func(c *job) bool { return c != j && !c.done })
}

// othersShown is how many tokens were shown of a program's choices besides the first: they are
// those choices' own.
func (j *job) othersShown() (n int) {
	for _, c := range j.program.choices {
		if c != j {
			n += c.counted
		}
	}
	return n
}

// startChoices begins the choices of a program's job besides the first.
func (s *Scheduler) startChoices(j *job) {
	for _, c := range j.program.choices {
		if c == j || c.done {
			continue
		}
		c.started, c.times.admitted = true, j.times.admitted
		c.stream.send(Event{Kind: KindStarted, Started: &Started{Slot: j.branches[0].slot, PromptTokens: c.drawer.answer.PromptLen()}})
		s.openAnswer(c)
	}
}

// showChoices takes what a program has shown into its choices, and its end.
func (s *Scheduler) showChoices(j *job, shown []program.Shown, returned bool, err error) {
	for i, c := range j.program.choices {
		var mine []program.Shown
		for _, t := range shown {
			if t.Choice == i {
				mine = append(mine, t)
			}
		}
		var from *program.Adopted
		if returned {
			from = j.program.Adopted(i)
		}
		if (len(mine) > 0 || returned) && !c.done {
			s.performCall(c, &pendingCall{call: call{work: func(a *answer.Answer) error { show(a, j.program.Name(), mine, returned, from, err); return nil }}})
		}
	}
}

// show takes what the program of that name has shown into its answer, and its end, or what the
// answer goes on from.
func show(a *answer.Answer, name string, shown []program.Shown, returned bool, from *program.Adopted, err error) {
	for _, t := range shown {
		a.Take(t.Token, t.Logprob)
	}
	switch {
	case err != nil:
		a.Fail(fmt.Errorf("a program: %w", err))
	case from != nil && a.Output().Reason == 0:
		if err := goOnFrom(a, from); err != nil {
			a.Fail(err)
		}
	case returned:
		a.Finish(name)
	}
}

// endOthers ends what belongs to a choice that has ended: the other choices of its program with the
// first, or the first if it was the last.
func (s *Scheduler) endOthers(j *job, e End) {
	if main := j.program.main; j != main {
		if main.held != nil && !main.othersGoOn() {
			s.endJob(main, *main.held)
		}
		return
	}
	for _, c := range j.program.choices {
		if c != j {
			s.endJob(c, End{Reason: e.Reason, Err: e.Err})
		}
	}
}

// tellEnded tells a program which of its choices have ended.
func (j *job) tellEnded() {
	for i, c := range j.program.choices {
		if c.done || c.held != nil {
			j.program.EndChoice(i)
		}
	}
}

var errNotBegun = errors.New("the answer is not the beginning of the branch that it was to go on from")

// goOnFrom makes a branch the answer.
func goOnFrom(a *answer.Answer, from *program.Adopted) error {
	if from.From == 0 {
		return nil // from where it is
	}
	prompt := from.Tokens[:from.From]
	if !slices.Equal(prompt, a.Tokens()[:a.PromptLen()]) {
		if err := a.Rebase(slices.Clone(prompt)); err != nil {
			return err
		}
	}
	has := len(a.Tokens())
	if has > len(from.Tokens) || !slices.Equal(a.Tokens(), from.Tokens[:has]) { // another plugin has changed it
		return fmt.Errorf("a program: %w", errNotBegun)
	}
	return a.Inject(from.Tokens[has:])
}

// freeChoices takes the choices from a program that go on without it.
func (s *Scheduler) freeChoices(j *job) (free []*job) {
	for i, c := range j.program.choices {
		if !c.done && c.held == nil && j.program.Adopted(i) != nil {
			free = append(free, c)
		}
	}
	return free
}

// leaveProgram ends the program of a job, which has returned, and has the choices go on that were
// adopted. It does nothing where one is still told of its last tokens.
func (s *Scheduler) leaveProgram(j *job) {
	free := s.freeChoices(j)
	if len(free) == 0 {
		return // the choices end, and the job with the last
	}
	for _, c := range free {
		if c != j {
			c.drawByItself()
			c.program, c.scope, c.cached = nil, j.scope, 0
			j.program.choices = slices.DeleteFunc(j.program.choices, func(o *job) bool { return o == c })
			c.queued = s.record.Start
			s.queue.push(c)
		}
	}
	if free[0] == j {
		s.becomeOrdinary(j)
	} else if j.held != nil && !j.othersGoOn() {
		s.endJob(j, *j.held)
	}
}

// becomeOrdinary has a job go on without its program, in a slot of its own.
func (s *Scheduler) becomeOrdinary(j *job) {
	for _, b := range j.branches {
		s.leaveOutOfPlan(b)
		s.stopSelfRun(b)
	}
	s.leaveSlots(j) // all branches stay in the cache: other choices may go on from them
	s.inbox.ended(j.req.Caller, len(j.branches)-1)
	p := j.program
	for _, row := range p.lent {
		row.Revoke()
	}
	j.spent, j.opened = p.Used()
	j.tellAllGrown()
	p.adopted = true
	close(p.over)
	j.drawByItself()
	j.program = nil
	j.queued = s.record.Start
	s.queue.push(j)
}
