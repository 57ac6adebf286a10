// SPDX-License-Identifier: MIT

package schedulertest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// memory is the KV cache. As in llama.cpp, a sequence has its new cells at once, and what is in
// them is copied later: it is what the source holds by then.
type memory struct {
	seqs  [][]int32  // cell ids in order; a shared one stands in several sequences
	spots [][]spot   // where each is
	data  [][]uint64 // of each, the hash of the tokens up to there; what was cut off is still there
	refs  []int32    // by cell id: how many sequences hold it
	free  []int32    // cell ids that no sequence holds
	last  []int      // tokens in the last pass
	held  []int      // first position of which the window of a sequence still holds something
	back  []bool     // a sequence has gone back to a snapshot, and no pass has loaded that yet
	copy  copyInProgress

	Restored   int // states put back
	Forced     int // copies that had to be finished because something needed them
	Copied     int // cells
	States     int // not closed yet
	StateBytes int // that those take
}

// copyInProgress is from one sequence to another, or to or from a state.
type copyInProgress struct {
	from, to       []uint64
	source, target int32 // sequences, or -1
	done           int
}

var none = copyInProgress{source: -1, target: -1}

func newMemory(l scheduler.Limits) memory {
	m := memory{seqs: make([][]int32, l.Sequences), spots: make([][]spot, l.Sequences), refs: make([]int32, l.Cells), copy: none}
	for range l.Sequences {
		m.data = append(m.data, make([]uint64, l.Context+1))
	}
	for i := range l.Cells {
		m.free = append(m.free, int32(i))
	}
	m.held, m.last, m.back = make([]int, l.Sequences), make([]int, l.Sequences), make([]bool, l.Sequences)
	return m
}

// Position is the one after a sequence.
func (b *Backend) Position(seq int32) int {
	if n := len(b.spots[seq]); n > 0 {
		return int(b.spots[seq][n-1].next)
	}
	return 0
}

// Truncate implements kvcache.Memory.
func (b *Backend) Truncate(seq int32, n int) int {
	if !b.Cuttable(seq, n) {
		n = 0
	}
	k := cells(b.spots[seq], n)
	if (seq == b.copy.source || seq == b.copy.target) && k < len(b.copy.to) {
		b.force()
	}
	if k < len(b.seqs[seq]) {
		b.last[seq] = 0 // it can be gone back once
		b.back[seq] = b.Recurrent && n > 0
	}
	b.drop(seq, k)
	return n
}

// drop removes the cells of a sequence from n on.
func (b *Backend) drop(seq int32, n int) {
	for _, id := range b.seqs[seq][n:] {
		if b.refs[id]--; b.refs[id] == 0 {
			b.free = append(b.free, id)
		}
	}
	if b.seqs[seq], b.spots[seq] = b.seqs[seq][:n], b.spots[seq][:n]; n == 0 {
		b.held[seq] = 0
	}
}

// Shares implements kvcache.Memory.
func (b *Backend) Shares() bool { return !b.NoSharing }

// Share implements kvcache.Memory.
func (b *Backend) Share(src, dst int32, n int) int {
	if !b.Shareable(src, n) {
		return 0
	}
	has, k := len(b.seqs[dst]), cells(b.spots[src], n)
	if has > 0 && b.TakesCheckpoints() || has > k {
		b.drop(dst, 0)
		return 0
	}
	b.held[dst], b.back[dst] = b.held[src], false
	b.last[src], b.last[dst] = 0, 0 // both would go back
	for _, id := range b.seqs[src][has:k] {
		b.refs[id]++
		b.seqs[dst] = append(b.seqs[dst], id)
	}
	b.spots[dst] = append(b.spots[dst], b.spots[src][has:k]...)
	b.begin(copyInProgress{from: b.data[src][has:k], to: b.data[dst][has:k], source: src, target: dst})
	return n
}

// ContinueCopy implements kvcache.Memory.
func (b *Backend) ContinueCopy(limit time.Duration, _ bool) (done bool) {
	m := &b.copy
	for begin := b.now; m.done < len(m.to) && (limit < 0 || m.done == 0 || b.now.Sub(begin) < limit); m.done++ {
		m.to[m.done] = m.from[m.done]
		b.Copied++
		b.Advance(b.CopyCost)
	}
	if m.done < len(m.to) {
		return false
	}
	*m = none
	return true
}

// begin starts a copy after the one before it.
func (b *Backend) begin(m copyInProgress) {
	b.force()
	b.copy = m
}

// force finishes a copy in the middle of something else.
func (b *Backend) force() {
	if b.copy.source >= 0 || b.copy.target >= 0 {
		b.Forced++
		b.ContinueCopy(-1, true)
	}
}

// Spoil has nobody find in a sequence what was in it, as after a panic. If it is negative, that is
// what the copy in progress fills, which ends.
func (b *Backend) Spoil(seq int32) {
	if seq < 0 {
		seq, b.copy = b.copy.target, none
	}
	if seq >= 0 {
		for i := range b.data[seq] {
			b.data[seq][i] ^= 1 << 40
		}
	}
}

// state is a sequence outside the cache.
type state struct {
	b      *Backend
	hashes []uint64
	spots  []spot
	held   int // memory.held of the sequence
	at     int // positions of a checkpoint
	kept   int // how often besides
	closed bool
}

// Contents implements kvcache.State: the hashes.
func (s *state) Contents() (contents []byte) {
	for _, h := range s.hashes {
		contents = binary.LittleEndian.AppendUint64(contents, h)
	}
	return contents
}

// Keep implements kvcache.State.
func (s *state) Keep() kvcache.State {
	s.kept++
	return s
}

// Bytes implements kvcache.State.
func (s *state) Bytes() int { return 8 * len(s.hashes) }

// Close implements kvcache.State.
func (s *state) Close() error {
	if s.closed {
		return errors.New("a state is closed twice")
	}
	if s.kept > 0 {
		s.kept--
		return nil
	}
	s.closed = true
	if m := s.b.copy; m.target < 0 && len(m.to) > 0 && &m.to[0] == &s.hashes[0] { // nobody wants it any more
		s.b.copy = none
	}
	s.b.States--
	s.b.StateBytes -= s.Bytes()
	return nil
}

// Adopt makes a state that another backend has saved one of this backend, as a file does, and
// closes the other.
func (b *Backend) Adopt(saved kvcache.State) kvcache.State {
	of := saved.(*state)
	s := &state{b: b, hashes: slices.Clone(of.hashes), spots: slices.Clone(of.spots), held: of.held}
	b.States++
	b.StateBytes += s.Bytes()
	_ = saved.Close() // it has no error
	return s
}

// SaveState implements kvcache.StateMemory.
func (b *Backend) SaveState(seq int32) (kvcache.State, error) {
	n, at := len(b.seqs[seq]), have(b.spots[seq])
	cells(b.spots[seq], at) // or it ends within a piece
	s := &state{b: b, hashes: make([]uint64, n), spots: slices.Clone(b.spots[seq]), held: max(b.held[seq], b.lookedAt(at))}
	b.States++
	b.StateBytes += s.Bytes()
	b.begin(copyInProgress{from: b.data[seq][:n], to: s.hashes, source: seq, target: -1})
	return s, nil
}

// RestoreState implements kvcache.StateMemory.
func (b *Backend) RestoreState(seq int32, kept kvcache.State, n int) error {
	s := kept.(*state)
	k := cells(s.spots, n)
	switch {
	case s.closed:
		return errors.New("the state is closed")
	case len(b.seqs[seq]) != 0 || k > len(b.free) || n > have(s.spots):
		return fmt.Errorf("sequence %d has %d cells, %d are free, %d positions of a state of %d", seq, len(b.seqs[seq]), len(b.free), n, have(s.spots))
	case k < len(s.hashes) && !b.StateCuttable(s, n):
		return errors.New("the state cannot be cut")
	case b.FailRestore:
		return errors.New("the state cannot be restored")
	}
	b.Restored++
	b.force()
	b.held[seq] = s.held
	for _, where := range s.spots[:k] {
		b.hold(seq, 0, where)
	}
	b.begin(copyInProgress{from: s.hashes[:k], to: b.data[seq][:k], source: -1, target: seq})
	return nil
}

// hold gives a sequence one more cell.
func (b *Backend) hold(seq int32, hash uint64, where spot) {
	id := b.free[len(b.free)-1]
	b.free = b.free[:len(b.free)-1]
	b.refs[id] = 1
	b.data[seq][len(b.seqs[seq])] = hash
	b.seqs[seq], b.spots[seq] = append(b.seqs[seq], id), append(b.spots[seq], where)
	if b.Window > 0 {
		b.held[seq] = max(b.held[seq], have(b.spots[seq])-b.Window-b.Slack)
	}
}

// TakesCheckpoints implements kvcache.Checkpointer.
func (b *Backend) TakesCheckpoints() bool { return b.Recurrent || b.Window > 0 }

// Cuttable implements kvcache.Checkpointer: a recurrent state is that at the end of its sequence,
// and a window must still hold all that the next token looks at.
func (b *Backend) Cuttable(seq int32, n int) bool {
	has, all := len(b.seqs[seq]), have(b.spots[seq])
	if n > all {
		return false
	}
	k := cells(b.spots[seq], n)
	if b.Recurrent && k < has {
		return has-k <= min(b.Snapshots, b.last[seq]-1)
	}
	return k == has || !b.NoCutting && b.held[seq] <= b.lookedAt(n)
}

// Shareable implements kvcache.Checkpointer: a recurrent sequence can be shared as a whole, and
// not while it has gone back.
func (b *Backend) Shareable(seq int32, n int) bool {
	if b.NoSharing || b.back[seq] || n > have(b.spots[seq]) || b.Recurrent && cells(b.spots[seq], n) < len(b.seqs[seq]) {
		return false
	}
	return b.Cuttable(seq, n)
}

// noteRows notes how many tokens each sequence has in a pass, for its snapshots. A pass with
// drafts of different lengths would be computed in parts, of which a later one may spoil the
// snapshots of an earlier one.
func (b *Backend) noteRows() error {
	if !b.Recurrent {
		return nil
	}
	clear(b.last)
	rows, most := map[int32]int{}, 0
	for i, seq := range b.batch.Sequences {
		b.last[seq]++
		b.back[seq] = false
		if b.batch.Outputs[i] {
			rows[seq]++
			most = max(most, rows[seq])
		}
	}
	for _, n := range rows {
		if most > 1 && n != most && !b.batch.PromptRows {
			return fmt.Errorf("a pass with drafts in which one sequence has %d rows and another %d", n, most)
		}
	}
	return nil
}

// lookedAt is the first position that the token at position n looks at.
func (b *Backend) lookedAt(n int) int {
	if b.Window == 0 {
		return 0
	}
	return max(0, n-b.Window)
}

// StateCuttable implements kvcache.Checkpointer.
func (b *Backend) StateCuttable(s kvcache.State, n int) bool {
	return !b.Recurrent && !b.NoCutting && s.(*state).held <= b.lookedAt(n)
}

// SaveCheckpoint implements kvcache.Checkpointer: the hash of all that was read.
func (b *Backend) SaveCheckpoint(seq int32, spent kvcache.State) (kvcache.State, error) {
	if spent != nil {
		if err := spent.Close(); err != nil {
			return nil, err
		}
	}
	if seq == b.copy.target {
		b.force()
	}
	b.Advance(b.CheckpointCost)
	n, at := len(b.seqs[seq]), have(b.spots[seq])
	if cells(b.spots[seq], at) < n {
		return nil, errors.New("a checkpoint within a piece")
	}
	s := &state{b: b, hashes: []uint64{b.data[seq][n-1]}, at: at, held: max(b.held[seq], b.lookedAt(at))}
	b.States++
	b.StateBytes += s.Bytes()
	b.Checkpoints++
	return s, nil
}

// RestoreCheckpoint implements kvcache.Checkpointer. What follows is computed from the checkpoint,
// whatever the sequence had there.
func (b *Backend) RestoreCheckpoint(src, dst int32, kept kvcache.State, n int) error {
	s := kept.(*state)
	switch {
	case s.closed:
		return errors.New("the checkpoint is closed")
	case s.at != n || n > have(b.spots[src]):
		return fmt.Errorf("a checkpoint at %d for %d positions of %d", s.at, n, have(b.spots[src]))
	case src != dst && len(b.seqs[dst]) != 0:
		return fmt.Errorf("sequence %d is not empty", dst)
	}
	b.force()
	k := cells(b.spots[src], n)
	if src == dst {
		b.drop(src, k)
	} else {
		for _, id := range b.seqs[src][:k] {
			b.refs[id]++
			b.seqs[dst] = append(b.seqs[dst], id)
		}
		b.spots[dst] = append(b.spots[dst], b.spots[src][:k]...)
		copy(b.data[dst], b.data[src][:k])
	}
	b.data[dst][k-1], b.held[dst] = s.hashes[0], s.held
	b.last[dst], b.back[dst] = 0, false
	return nil
}

// Cold is a kvcache.Cold in main memory, for tests of one goroutine: what is fetched comes with
// Deliver.
type Cold struct {
	Reading  time.Duration // that each conversation is said to take
	Refuses  func() bool   // whether the next conversation that is offered is not kept; nil: all are
	Offered  int           // conversations, so far
	Ended    int           // of them, at the end
	Fetched  int           // conversations, so far
	backend  *Backend
	kept     []keptCold
	fetching []func()
	last     uint64
}

type keptCold struct {
	id      uint64
	saved   *kvcache.Saved
	digests []kvcache.Digest
}

// NewCold makes an empty one for a backend.
func NewCold(b *Backend) *Cold { return &Cold{backend: b} }

// Find implements kvcache.Cold.
func (c *Cold) Find(digests []kvcache.Digest, scope kvcache.Scope) (best kvcache.Stored, ok bool) {
	for _, k := range c.kept {
		n := 0
		for n < min(len(digests), len(k.digests)) && digests[n] == k.digests[n] {
			n++
		}
		if n == 0 || k.saved.Scope != scope {
			continue
		}
		found := kvcache.Stored{ID: k.id, Tokens: len(k.saved.Tokens), Common: n * kvcache.BlockTokens, Reading: c.Reading, Computing: k.saved.Computing}
		if found.Usable = found.Common; !k.saved.Cuttable && n < len(k.digests) {
			found.Usable = 0
			for _, p := range k.saved.Checkpoints {
				if p.N <= found.Common {
					found.Usable = p.N
				}
			}
		}
		if !ok || found.Usable > best.Usable || found.Usable == best.Usable && found.Common > best.Common {
			best, ok = found, true
		}
	}
	return best, ok
}

var errGone = errors.New("the conversation is gone")

// Fetch implements kvcache.Cold.
func (c *Cold) Fetch(id uint64, _ kvcache.Scope, done func(*kvcache.Saved, error)) {
	c.Fetched++
	c.fetching = append(c.fetching, func() {
		i := slices.IndexFunc(c.kept, func(k keptCold) bool { return k.id == id })
		if i < 0 {
			done(nil, errGone)
			return
		}
		saved := *c.kept[i].saved
		saved.State, saved.Checkpoints = saved.State.Keep(), slices.Clone(saved.Checkpoints)
		for n := range saved.Checkpoints {
			saved.Checkpoints[n].State = saved.Checkpoints[n].State.Keep()
		}
		done(&saved, nil)
	})
}

// Deliver ends what is being fetched, and reports whether something was.
func (c *Cold) Deliver() bool {
	fetching := c.fetching
	c.fetching = nil
	for _, f := range fetching {
		f()
	}
	return len(fetching) > 0
}

// Offer implements kvcache.Cold.
func (c *Cold) Offer(s *kvcache.Saved, end bool) (more bool) {
	if c.Offered++; end {
		c.Ended++
	}
	if c.Refuses != nil && c.Refuses() {
		_ = s.Close() // it is only a copy
		return true
	}
	c.last++
	c.kept = append(c.kept, keptCold{c.last, s, kvcache.DigestsWith(s.Tokens, c.backend.Pieces)})
	return true
}

// Forget implements kvcache.Cold.
func (c *Cold) Forget(id uint64) {
	c.drop(func(k keptCold) bool { return k.id == id })
}

// Erase implements kvcache.Cold.
func (c *Cold) Erase(digests []kvcache.Digest, scope kvcache.Scope) {
	c.drop(func(k keptCold) bool {
		n := min(len(digests), len(k.digests))
		return n > 0 && k.saved.Scope == scope && slices.Equal(digests[:n], k.digests[:n])
	})
}

// Clear drops everything.
func (c *Cold) Clear() { c.drop(func(keptCold) bool { return true }) }

// Kept is how many conversations there are, and how many bytes their states have.
func (c *Cold) Kept() (n, bytes int) {
	for _, k := range c.kept {
		bytes += k.saved.State.Bytes()
		for _, p := range k.saved.Checkpoints {
			bytes += p.State.Bytes()
		}
	}
	return len(c.kept), bytes
}

func (c *Cold) drop(which func(keptCold) bool) {
	c.kept = slices.DeleteFunc(c.kept, func(k keptCold) bool {
		if which(k) {
			_ = k.saved.Close() // it is only a copy
			return true
		}
		return false
	})
}
