// SPDX-License-Identifier: MIT

package kvcache

import (
	"math"
	"slices"
	"time"
)

// Checkpointer is implemented by a Memory that may not be cut everywhere: recurrent layers have
// one state for all that they have read, and a sliding window has moved on. A checkpoint is a copy
// of that part of a sequence, to which it can be cut back.
type Checkpointer interface {
	// TakesCheckpoints reports whether there is a part that cannot be cut and can be copied.
	// Without, a sequence can only be cut as Cuttable says.
	TakesCheckpoints() bool
	// Cuttable reports whether Truncate would keep the first n positions of seq.
	Cuttable(seq int32, n int) bool
	// Shareable reports whether Share would give another sequence the first n positions of seq.
	Shareable(seq int32, n int) bool
	// StateCuttable reports whether RestoreState can put back the first n positions of a state
	// alone.
	StateCuttable(s State, n int) bool
	// SaveCheckpoint copies the part of seq that cannot be cut, as it is now. It closes a spent
	// checkpoint whose memory it may take; nil: there is none.
	SaveCheckpoint(seq int32, spent State) (State, error)
	// RestoreCheckpoint makes dst the first n positions of src, which had exactly these when the
	// checkpoint was taken and has them still. dst is src itself or empty. After an error dst is
	// empty.
	RestoreCheckpoint(src, dst int32, checkpoint State, n int) error
}

// CheckpointOptions bound the checkpoints. With nothing in Most or in Bytes there are none.
type CheckpointOptions struct {
	Most    int   // of a sequence
	MinStep int   // tokens of a prompt between two, besides those at places where requests are likely to part
	Bytes   int64 // of all
}

const (
	// beforeEnd is how many tokens before the end of a prompt a checkpoint is taken. The next turn
	// often parts there: chat templates end a prompt with the beginning of the answer, and write
	// the answer down differently once it is over.
	beforeEnd = 4
	// answerStep is how many tokens of an answer there are between two checkpoints.
	answerStep = 32
)

// checkpoint is what is kept of a sequence of n tokens to cut it back there. Sequences and entries
// of the archive that begin with the same tokens hold it in common.
type checkpoint struct {
	n       int
	answer  bool // n lies within an answer: others are near
	state   State
	bytes   int64
	holders int
}

// checkpoints keeps the checkpoints of all sequences and of the archive.
type checkpoints struct {
	CheckpointOptions
	memory Checkpointer  // nil: it can be cut everywhere, as far as is known
	takes  bool          // there are any
	bytes  int64         // that they take
	spare  []*checkpoint // that nobody holds, the newest last
	size   int64         // bytes of the last one that was taken
	took   time.Duration // to take the last one, or less since others were left out
}

// maxSpare is how many checkpoints that nobody holds are kept, for their memory: new pages take
// the system many times longer than a copy.
const maxSpare = 2

// release frees a checkpoint.
func (k *checkpoints) release(p *checkpoint) {
	if p.holders--; p.holders > 0 {
		return
	}
	if k.spare = append(k.spare, p); len(k.spare) > maxSpare {
		k.freeSpare()
	}
}

// freeSpare frees the oldest spare checkpoint.
func (k *checkpoints) freeSpare() {
	p := k.spare[0]
	k.spare = k.spare[1:]
	k.bytes -= p.bytes
	_ = p.state.Close() // it is gone
}

// takeSpare is the newest spare checkpoint's state, for its memory; nil: there is none.
func (k *checkpoints) takeSpare() State {
	if len(k.spare) == 0 {
		return nil
	}
	p := k.spare[len(k.spare)-1]
	k.spare = k.spare[:len(k.spare)-1]
	k.bytes -= p.bytes
	return p.state
}

// hold gives a conversation the checkpoints of another up to n, in place of its own.
func (k *checkpoints) hold(to *conversation, all []*checkpoint, n int) {
	var held []*checkpoint
	for _, p := range all {
		if p.n <= n {
			p.holders++
			held = append(held, p)
		}
	}
	k.drop(to, 0)
	to.checkpoints = held
}

// adoptCheckpoints gives a sequence that was restored the checkpoints that were saved with it, as
// far as it came back: the last ones, as many as the bounds allow.
func (c *Cache) adoptCheckpoints(s *Sequence, saved []SavedCheckpoint) {
	k, sum := &c.checkpoints, int64(0)
	if !k.takes {
		return
	}
	for _, p := range slices.Backward(saved) {
		if p.N > len(s.tokens) {
			continue
		}
		bytes := int64(p.State.Bytes())
		if sum += bytes; len(s.checkpoints) >= k.Most || bytes > k.Bytes/4 || sum > k.Bytes {
			break
		}
		c.fitCheckpoints(bytes)
		k.bytes += bytes
		s.checkpoints = slices.Insert(s.checkpoints, 0, &checkpoint{n: p.N, state: p.State.Keep(), bytes: bytes, holders: 1})
	}
}

// drop lets a conversation go of its checkpoints after n.
func (k *checkpoints) drop(c *conversation, n int) {
	c.checkpoints = slices.DeleteFunc(c.checkpoints, func(p *checkpoint) bool {
		if p.n > n {
			k.release(p)
		}
		return p.n > n
	})
}

// lastCheckpoint is the last checkpoint up to n; nil: there is none.
func (c *conversation) lastCheckpoint(n int) (found *checkpoint) {
	for _, p := range c.checkpoints {
		if p.n <= n {
			found = p
		}
	}
	return found
}

// lastPosition is where the last checkpoint up to n is; 0: there is none.
func (c *conversation) lastPosition(n int) int {
	if p := c.lastCheckpoint(n); p != nil {
		return p.n
	}
	return 0
}

// usable is how many of the first n tokens of a sequence another request can use: it can be cut to
// them or, while a request has it, shared.
func (c *Cache) usable(s *Sequence, n int) int {
	k := c.checkpoints.memory
	switch {
	case n == 0 || s.unsure || s.running && !c.memory.Shares():
		return 0
	case k == nil, s.running && k.Shareable(s.id, s.positions(n)), !s.running && (n == len(s.tokens) || k.Cuttable(s.id, s.positions(n))):
		return n
	}
	return s.lastPosition(n)
}

// cutMemory keeps the first n tokens of a sequence in the memory, or those up to the last
// checkpoint before, and returns how many.
func (c *Cache) cutMemory(s *Sequence, n int) (kept int) {
	if s.unsure {
		n = 0
	}
	at := s.positions(n)
	if k := &c.checkpoints; k.memory != nil && n > 0 && !k.memory.Cuttable(s.id, at) {
		if p := s.lastCheckpoint(n); p != nil && c.changeMemory(s, func() error { return k.memory.RestoreCheckpoint(s.id, s.id, p.state, s.positions(p.n)) }) == nil {
			return p.n
		}
	}
	_ = c.changeMemory(s, func() error { kept = c.memory.Truncate(s.id, at); return nil })
	if kept < at {
		return 0
	}
	return n
}

// TakesCheckpoints reports whether there are any.
func (c *Cache) TakesCheckpoints() bool {
	return c.checkpoints.takes && c.checkpoints.Most > 0 && c.checkpoints.Bytes > 0
}

// Want asks for a checkpoint when the sequence of a request has n tokens, because another request
// shares those, or is likely to.
func (c *Cache) Want(s *Sequence, n int) {
	if !c.TakesCheckpoints() || n <= len(s.tokens) {
		return
	}
	if i, found := slices.BinarySearch(s.wanted, n); !found {
		s.wanted = slices.Insert(s.wanted, i, n)
	}
}

// Uninterrupted is how many tokens can be computed at once until a checkpoint is wanted.
func (s *Sequence) Uninterrupted() int {
	for _, n := range s.wanted {
		if n > len(s.tokens) { // else the tick that was to take it was cut short
			return n - len(s.tokens)
		}
	}
	return math.MaxInt
}

// wantCheckpoints notes where a request wants checkpoints: where it parts from others, as a third
// one may part there, too, and near the end of its prompt.
func (c *Cache) wantCheckpoints(s *Sequence, r Claim, parts int) {
	s.wanted = s.wanted[:0]
	found := len(s.tokens)
	if parts >= found+answerStep {
		c.Want(s, parts)
	}
	if end := s.pieces.Border(r.Tokens, r.PromptLen-beforeEnd); end >= found+answerStep {
		c.Want(s, end)
	}
}

// mostInCommon is how many tokens a request has in common with the sequence, or entry of the
// archive, that has most of them.
func (c *Cache) mostInCommon(r Claim) (common int) {
	if !r.Reuse || !c.checkpoints.takes {
		return 0
	}
	tokens := reusable(r.Tokens)
	for _, s := range c.sequences {
		common = max(common, s.common(tokens, r.Scope))
	}
	for _, e := range c.archive.entries {
		common = max(common, e.common(tokens, r.Scope))
	}
	return common
}

// Checkpoint takes a checkpoint of a request's sequence if one is due and can be expected to take
// no longer than given. It returns how long it took.
func (c *Cache) Checkpoint(s *Sequence, longest time.Duration) time.Duration {
	if !c.TakesCheckpoints() || !c.isDue(s) {
		return 0
	}
	return c.takeCheckpoint(s, longest)
}

// isDue reports whether a checkpoint of a sequence is to be taken now, and forgets what was wanted
// up to here.
func (c *Cache) isDue(s *Sequence) bool {
	n := len(s.tokens)
	last := s.lastPosition(n)
	wanted := false
	for len(s.wanted) > 0 && s.wanted[0] <= n {
		wanted = wanted || s.wanted[0] == n
		s.wanted = s.wanted[1:]
	}
	switch {
	case n == 0 || n == last || s.lastBorder(n) < n:
		return false
	case wanted:
		return true
	case n > s.prompt:
		return n-max(last, s.prompt-beforeEnd) >= answerStep && !c.checkpoints.memory.Cuttable(s.id, s.positions(s.lastBorder(n-answerStep)))
	}
	return n-last > c.checkpoints.MinStep
}

// takeCheckpoint takes a checkpoint of a sequence unless that would exceed a bound, and makes room
// for it.
func (c *Cache) takeCheckpoint(s *Sequence, longest time.Duration) time.Duration {
	k := &c.checkpoints
	if !c.TakesCheckpoints() || k.took > longest || k.size > k.Bytes/4 {
		k.took -= k.took / 8 // it may have been a bad moment
		return 0
	}
	k.thinOut(s)
	for len(k.spare) == 0 && k.bytes+k.size > k.Bytes && c.dropCheckpoint() {
	}
	begin := c.now()
	state, err := k.memory.SaveCheckpoint(s.id, k.takeSpare())
	k.took = c.now().Sub(begin)
	if err != nil {
		return k.took // it will be computed again
	}
	p := &checkpoint{n: len(s.tokens), answer: len(s.tokens) > s.prompt, state: state, bytes: int64(state.Bytes()), holders: 1}
	k.size = p.bytes
	if p.bytes > k.Bytes/4 {
		_ = state.Close()
		return k.took
	}
	k.bytes += p.bytes
	s.checkpoints = append(s.checkpoints, p)
	c.fitCheckpoints(0) // it may be larger than the last one
	return k.took
}

// fitCheckpoints drops checkpoints until there is room for that many bytes more.
func (c *Cache) fitCheckpoints(more int64) {
	k := &c.checkpoints
	for k.bytes+more > k.Bytes && (len(k.spare) > 0 || c.dropCheckpoint()) {
		if len(k.spare) > 0 { // else others hold what was dropped
			k.freeSpare()
		}
	}
}

// thinOut makes room among a sequence's checkpoints for another at its end. Of those within an
// answer it drops each without which a cut would still go back no more than twice as far as asked;
// so the fewer are left, the further they are from the end. If there are too many even so, the one
// goes that is missed least.
func (k *checkpoints) thinOut(s *Sequence) {
	end, all := len(s.tokens), s.checkpoints
	for i := len(all) - 1; i > 0; i-- {
		right := end
		if i+1 < len(all) {
			right = all[i+1].n
		}
		if all[i].answer && right < end && right-all[i-1].n <= end-right {
			k.release(all[i])
			all = slices.Delete(all, i, i+1)
		}
	}
	for len(all) > 0 && len(all) >= k.Most {
		i := leastMissed(all, end)
		k.release(all[i])
		all = slices.Delete(all, i, i+1)
	}
	s.checkpoints = all
}

// leastMissed is the checkpoint without which the gap would be smallest, in proportion to how far
// it is from the end. The newest is only chosen if it is the only one.
func leastMissed(all []*checkpoint, end int) (least int) {
	smallest, left := math.Inf(1), 0
	for i, p := range all[:len(all)-1] {
		if gap := float64(all[i+1].n-left) / float64(end-p.n); gap < smallest {
			least, smallest = i, gap
		}
		left = p.n
	}
	return least
}

// dropCheckpoint drops the oldest checkpoint of what was used least recently: first in the
// archive, then in the cache. It reports whether there was one.
func (c *Cache) dropCheckpoint() bool {
	var least *conversation
	for _, e := range c.archive.entries {
		if least == nil && len(e.checkpoints) > 0 {
			least = &e.conversation
		}
	}
	if least == nil {
		var oldest *Sequence
		for _, s := range c.sequences {
			if len(s.checkpoints) > 0 && (oldest == nil || !s.running && oldest.running || s.running == oldest.running && s.lastUse < oldest.lastUse) {
				oldest = s
			}
		}
		if oldest == nil {
			return false
		}
		least = &oldest.conversation
	}
	c.checkpoints.release(least.checkpoints[0])
	least.checkpoints = slices.Delete(least.checkpoints, 0, 1)
	return true
}
