// SPDX-License-Identifier: MIT

package fuel

// shape counts what makes a function slow to compile. wazero's time grows
// with the square of a function's basic blocks, with the values that live
// across them, and with the square of those that meet where control flow
// joins: a module of 35 KB, 5,000 loops inside one another, keeps it busy for
// more than a minute and cannot be stopped, and one with 60,000 values on the
// operand stack before 1,000 branches takes gigabytes.
type shape struct {
	blocks  int   // starts of basic blocks, charges among them
	targets int   // of br_table
	arity   int   // values that blocks and branches carry
	sets    int   // local.set and local.tee
	depths  int   // open blocks at each of them, added up
	traps   int   // instructions with a way out besides the next one: memory accesses, divisions, truncations
	edges   int   // ways into basic blocks
	stacked int64 // values on the operand stack at each of them, added up
	spans   int64 // edges between the definition and the last use of each local, added up, and once more for each loop around a use
	looped  int64 // locals used in each loop, squared, added up
}

// work estimates the time of compiling in units of 50 to 100 ns. The default
// limits are about a second for one function, the longest time that compiling
// cannot be stopped for, and a few for a module. All of stock Go's runtime
// comes to a third of them.
//
// A local that is changed can need a joined value at the end of each block
// that is open then, but no more than one for each local and block. A value
// on the stack is in a list of each block that it lives through, and a local
// in a map too. A loop joins all locals that are used in it, before it is
// known which of them change.
func (s *shape) work(locals int) int64 {
	blocks := int64(s.blocks + s.targets/4)
	joined := min(int64(s.depths), blocks*int64(min(locals, s.sets))) + int64(s.arity)
	return blocks*blocks + joined*joined/256 + 4*s.stacked + 12*s.spans + s.looped/4
}

// functionWork is what the smallest function takes, besides a unit for each global of the module.
const functionWork = 150

// alone estimates the part of compiling a function that cannot be interrupted: work, and what only
// grows in proportion to the code.
func (s *shape) alone(locals int) int64 { return s.work(locals) + 150*int64(s.traps) }

// What is said of a function and of a module that take too long to compile.
const (
	workCounts     = "so many branches, values that live across them, locals used in loops, wide calls or memory accesses, that compiling would take too long"
	functionIsMuch = "it has " + workCounts + "; split it, or leave out the package that it comes from"
	moduleIsMuch   = "the functions up to here have " + workCounts + "; leave out large packages"
)

// startBlock counts the start of a basic block.
func (f *function) startBlock() {
	f.shape.blocks++
	f.countEdges(1)
}

// countEdges counts ways into basic blocks. All values on the stack live through them.
func (f *function) countEdges(ways int) {
	if f.now == dead {
		return // it is not compiled
	}
	f.shape.edges += ways
	f.shape.stacked += int64(ways) * int64(f.height)
}

// use is where a local was used in the code so far.
type use struct {
	from  int // the edge where it begins to live
	last  int // the edge of the last use, plus 1; 0: none
	order int // of the last use among all uses of locals
	depth int // open frames at the definition that from stands for
	frame int // the number of the innermost of them
}

// loopUse is an open loop.
type loopUse struct{ order, locals int }

// leaveLoop ends the innermost loop.
func (f *function) leaveLoop() {
	top := len(f.loops) - 1
	used := int64(f.loops[top].locals)
	f.shape.looped += used * used
	f.loops = f.loops[:top]
}

// useLocal counts a use of a local. A local that is set lives from there on, as
// long as the surrounding block is open. One that is used after the block, or was
// never set, lives from the function's beginning on.
func (f *function) useLocal(i int, set bool) {
	u := &f.uses[i]
	top := len(f.frames) - 1
	switch {
	case u.last == 0 && set:
		*u = use{from: f.shape.edges, last: f.shape.edges + 1, depth: top, frame: f.frames[top].number}
	case u.last == 0:
		f.shape.spans += int64(f.shape.edges)
	case u.from > 0 && (u.depth > top || f.frames[u.depth].number != u.frame):
		f.shape.spans += int64(u.from)
		u.from = 0
		fallthrough
	default:
		f.shape.spans += int64(f.shape.edges + 1 - u.last)
	}
	u.last = f.shape.edges + 1
	f.order++
	for n := len(f.loops) - 1; n >= 0 && f.loops[n].order >= u.order; n-- {
		f.loops[n].locals++
		f.shape.spans++
	}
	u.order = f.order
}
