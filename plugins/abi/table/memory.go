// SPDX-License-Identifier: MIT

package table

import (
	"fmt"
	"strings"
)

// Access says what the host does with the memory that a pointer names.
type Access int

// Ways to use a parameter: not a pointer at all, memory the host reads, writes, or reads and then
// writes, and memory that it keeps for later calls.
const (
	None Access = iota
	Read
	Write
	Update
	Keep
)

// List is what lies at a pointer.
type List string

// Lists, by their entries.
const (
	Bytes      List = "bytes"      // text, JSON or anything else
	Tokens     List = "tokens"     // a u32 each
	Handles    List = "handles"    // a u32 each, of branches
	Numbers    List = "numbers"    // an f32 each
	Pairs      List = "pairs"      // a u32 handle and an f32 each
	Words      List = "words"      // u32, with a bit for each token
	Candidates List = "candidates" // f32 log-sum-exp, f32 entropy, u32 id[k], f32 logit[k]
)

// Value is one parameter.
type Value struct {
	Name   string
	Type   Type
	Access Access
	List   List   // for pointers: what lies there
	Len    string // for pointers: the parameter that counts the entries; empty: the next
	Null   bool   // for pointers: 0 means that there is no list
	Most   string // for pointers: the limit of the entries, beyond which the call is a fault
}

// Entries is the index of the parameter that counts the entries of the list that parameter p
// points to; −1 if there is none.
func (f Func) Entries(p int) int {
	name := f.Params[p].Len
	for i, v := range f.Params {
		if v.Access == None && (v.Name == name || name == "" && i == p+1) {
			return i
		}
	}
	return -1
}

// Record says what a recording has of an import's calls.
type Record int

// An answer is recorded if a player cannot compute it from the session. What was written is
// recorded where it fitted, or in any case: then it answers later calls with more room, too.
const (
	NotRecorded Record = iota
	RecordFitting
	RecordWhole
)

// Cost is the fuel that a call of an import takes besides that of every call.
type Cost struct {
	Fixed      uint64
	Byte       uint64 // for each byte that is read
	Read       bool   // bytes read / 16
	Wrote      bool   // bytes written / 16, if they fit
	Vocabulary uint64 // × n_vocab
	Each       uint64 // × the parameter Per
	Per        string // what Each, or Vocabulary, is multiplied by
	More       string // what else, which the host function charges itself
}

// String is the cost in words.
func (c Cost) String() string {
	var terms []string
	add := func(there bool, format string, args ...any) {
		if there {
			terms = append(terms, fmt.Sprintf(format, args...))
		}
	}
	add(c.Fixed > 0, "%s", thousands(c.Fixed))
	add(c.Byte > 0, "%d × bytes read", c.Byte)
	add(c.Read, "bytes read / 16")
	add(c.Each > 0, "%d × %s", c.Each, c.Per)
	switch {
	case c.Vocabulary > 0 && c.Per != "":
		add(true, "%s × n_vocab", c.Per)
	case c.Vocabulary > 1:
		add(true, "%d × n_vocab", c.Vocabulary)
	default:
		add(c.Vocabulary > 0, "n_vocab")
	}
	add(c.Wrote, "bytes written / 16")
	text := strings.Join(terms, ", ")
	if last := len(terms) - 1; last > 0 {
		text = strings.Join(terms[:last], ", ") + ", and " + terms[last]
	}
	switch {
	case c.More == "":
		return text
	case text == "":
		return c.More
	}
	return text + "; also " + c.More
}

// thousands is a number with commas.
func thousands(n uint64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
