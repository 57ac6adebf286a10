// SPDX-License-Identifier: MIT

package engine

// rollback knows which of the last tokens of a recurrent model's sequences can be dropped. Each
// pass of a sequence leaves, besides its state, the states before its last tokens (llama.cpp's
// n_rs_seq). Going back to one of them is possible once, and only until the next pass, whatever
// that computes: it may move the sequence's state to another cell, and leaves the snapshots where
// they were.
type rollback struct {
	snapshots int
	last      []int  // by sequence: how many tokens the last pass computed of it
	back      []bool // by sequence: it has gone back, and llama.cpp has not yet loaded the state
}

func newRollback(sequences, snapshots int) rollback {
	return rollback{snapshots, make([]int, sequences), make([]bool, sequences)}
}

// note takes in a pass.
func (r *rollback) note(sequences []int32, err error) {
	clear(r.last)
	if err != nil {
		return
	}
	for _, seq := range sequences {
		r.last[seq]++
		r.back[seq] = false
	}
}

// perceived takes in a pass over embeddings, of which none is dropped: they may have fewer
// positions than there are.
func (r *rollback) perceived(seq int32, err error) {
	clear(r.last)
	if err == nil {
		r.back[seq] = false
	}
}

// reaches reports whether the last n tokens of a sequence can be dropped.
func (r *rollback) reaches(seq int32, n int) bool { return n <= min(r.snapshots, r.last[seq]-1) }

// took notes that they were.
func (r *rollback) took(seq int32) { r.last[seq], r.back[seq] = 0, true }

// shared notes that another sequence has the same state: if one went back, the other would, too.
func (r *rollback) shared(seq int32) { r.last[seq] = 0 }

// forgot notes that a sequence is empty, or has another state.
func (r *rollback) forgot(seq int32) { r.last[seq], r.back[seq] = 0, false }
