// SPDX-License-Identifier: MIT

package grammar

// place is a point between the parts of a rule.
type place int32

type edgeKind uint8

const (
	toEmpty  edgeKind = iota
	toLexeme          // reads lexeme arg, of which at least one byte
	toToken           // reads token arg
	toOther           // reads any token but arg
	toUnique          // reads unique text arg, which may be empty where something is read before it
	toCall            // reads rule arg, of which at least one byte
	toJump            // as toCall, where nothing is left to come after it: the stack does not grow
	toItem            // where item arg may come
	toDone            // item arg has come
	toMore            // where any item may come
	toEnd             // where the loop may end
	toMemory          // with memory arg of the compiled ones
)

// edge leads from one place to another.
type edge struct {
	kind edgeKind
	arg  int32
	to   place
}

// reads reports whether an edge reads something.
func (k edgeKind) reads() bool { return k >= toLexeme && k <= toJump }

// procedure is a rule, or a loop, which has a memory. It reads at least one byte: those who call it
// go on without it where it may be empty. So nothing ends where it began, and no rule comes back to
// where it was.
type procedure struct {
	start, final place
	loop         int32 // -1: none
	empty        bool  // the texts have the empty one
}

// rest says how long the shortest text from a place to the end of its procedure is: so many bytes,
// and then what the loop's memory says.
type rest struct {
	bytes int32
	after where
	done  int32 // the item that comes to its end first; -1: none
}
