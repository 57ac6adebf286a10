// SPDX-License-Identifier: MIT

package fuel

// A segment is a stretch of code that one charge pays for. Its number says
// which charge; three numbers are special.
const (
	pending = -1 // a charge is due before the next instruction that costs
	dead    = -2 // no execution comes here
	nowhere = -3 // of a join: no edge seen yet
)

// longSegment is the cost from which control flow starts a new segment even
// where it need not, so that one arm does not pay for all others.
const longSegment = 24

// longestSegment is the cost that no segment exceeds by more than an
// instruction, so that what one charge pays for is soon done.
const longestSegment = 1000

// checkEvery is how many bytes of code may run before the counter is looked
// at again. Charges between do without the branch.
const checkEvery = 1024

// frame is an open block, loop, if, or the function itself.
type frame struct {
	opcode  byte // opBlock, opLoop or opIf; after an else it is opBlock
	entry   int  // segment in which an if was entered, for its other arm
	checked int  // where the counter was last looked at before the frame
	refills int  // loops around and including this that were wrapped, see function.loop
	join    int  // what the edges to the frame's end have in common
	params  int
	results int
	base    int // height of the operand stack below its parameters
	number  int // of the frame in its function
}

// ledger keeps track of segments through structured control flow.
//
// It holds that on every path to an instruction the charge of the
// instruction's segment has been paid since the last loop header: a segment
// goes on past an end only if every edge to that end leaves the same one.
type ledger struct {
	now     int     // segment of the code being read
	checked int     // where the counter was last looked at, on every path to here
	costs   []int64 // of each segment so far
	places  []place // where costs are to be written
	frames  []frame
}

func (l *ledger) open(f frame) { l.frames = append(l.frames, f) }

// place is a position in the body for the cost of a segment.
type place struct{ segment, at int }

// begin starts a segment.
func (l *ledger) begin() {
	l.now = len(l.costs)
	l.costs = append(l.costs, 0)
}

func (l *ledger) pay(cost int64) {
	if l.now >= 0 {
		l.costs[l.now] += cost
	}
}

// refills is how many wrapped loops are open.
func (l *ledger) refills() int {
	if len(l.frames) == 0 {
		return 0
	}
	return l.frames[len(l.frames)-1].refills
}

// edge notes a jump from here to the end of the frame that label names. The
// function's own end and loop headers need none: nothing follows the one, and
// the other charges for itself.
func (l *ledger) edge(label int) {
	if i := len(l.frames) - 1 - label; i > 0 && l.frames[i].opcode != opLoop {
		l.frames[i].meet(l.now)
	}
}

func (f *frame) meet(segment int) {
	switch {
	case segment == dead:
	case f.join == nowhere:
		f.join = segment
	case f.join != segment:
		f.join = pending
	}
}

// turn handles an else; it reports false where none may stand.
func (l *ledger) turn() bool {
	f := &l.frames[len(l.frames)-1]
	if f.opcode != opIf {
		return false
	}
	f.meet(l.now)
	f.opcode, l.now, l.checked = opBlock, f.entry, f.checked
	l.cut()
	return true
}

// close handles an end.
func (l *ledger) close() {
	top := len(l.frames) - 1
	f := l.frames[top]
	l.frames = l.frames[:top]
	l.checked = f.checked // what is within may have been jumped over
	if f.opcode == opLoop {
		return // only its last instruction leads here
	}
	f.meet(l.now)
	if f.opcode == opIf {
		f.meet(f.entry) // the arm that is not there
	}
	if l.now = f.join; l.now == nowhere {
		l.now = dead
	}
	l.cut()
}

// split ends a segment that would become longer than any may.
func (l *ledger) split(cost int64) {
	if l.now >= 0 && l.costs[l.now] > 0 && l.costs[l.now]+cost > longestSegment {
		l.now = pending
	}
}

// cut ends a segment that has become long. It need not after a call: what
// comes then was paid before it. A branch after each call would only make
// compiling slower.
func (l *ledger) cut() {
	if l.now >= 0 && l.costs[l.now] > longSegment {
		l.now = pending
	}
}
