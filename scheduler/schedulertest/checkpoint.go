// SPDX-License-Identifier: MIT

package schedulertest

import (
	"errors"
	"fmt"

	"github.com/penstock/penstock/scheduler/kvcache"
)

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
