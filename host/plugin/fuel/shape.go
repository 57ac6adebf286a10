// SPDX-License-Identifier: MIT

package fuel

// shape counts what makes a function slow to compile. wazero's time grows
// with the square of a function's basic blocks, and again with the values that
// meet where control flow joins: a module of 35 KB, 5,000 loops inside one
// another, keeps it busy for more than a minute and cannot be stopped.
type shape struct {
	blocks  int // starts of basic blocks, charges among them
	targets int // of br_table
	arity   int // values that blocks and branches carry
	sets    int // local.set and local.tee
	depths  int // open blocks at each of them, added up
	traps   int // instructions with a way out besides the next one: memory accesses, divisions, truncations
}

// work estimates the time of compiling in units of 50 to 100 ns. The default
// limits are about a second for one function, the longest time that compiling
// cannot be stopped for, and a few for a module. All of stock Go's runtime
// comes to a third of them.
//
// A local that is changed can need a joined value at the end of each block
// that is open then, but no more than one for each local and block.
func (s shape) work(locals int) int64 {
	blocks := int64(s.blocks + s.targets/4)
	joined := min(int64(s.depths), blocks*int64(min(locals, s.sets))) + int64(s.arity)
	return blocks*blocks + joined*joined/256
}

// alone is what of a function cannot be interrupted: work, and what only grows in proportion to the code.
func (s shape) alone(locals int) int64 { return s.work(locals) + 150*int64(s.traps) }
