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

func buffers() []Buffer {
	llama := map[string]int64{"cap": 256, "n_vocab": 128256}
	return []Buffer{
		{
			Name: "candidates", Kind: 1, Worked: llama,
			Fields: []Field{{"id", "u32", "cap"}, {"logit", "f32", "cap"}},
			Doc: "The default view: the host's exact top k, best first, k ≤ cap. cap = len / 8. " +
				"Both arrays keep their place when there are fewer than cap candidates: logits always start at 4 × cap.",
		},
		{
			Name: "logits", Kind: 2, Worked: llama,
			Fields: []Field{{"logit", "f32", "n_vocab"}},
			Doc:    "The whole row. It must be declared in the manifest, since it costs a copy of the row and a pass over it. len = 4 × n_vocab.",
		},
		{
			Name: "mask", Kind: 3, Worked: llama,
			Fields: []Field{{"word", "u32", "words"}},
			Doc: "If bit i mod 32 of word i / 32 is set, token i is allowed. words = (n_vocab + 31) / 32, rounded down. " +
				"Filled by `penstock_prepare` and applied natively with SIMD; bits beyond n_vocab are ignored.",
		},
		{
			Name: "bias", Kind: 4, Worked: map[string]int64{"cap": 16, "n_vocab": 128256},
			Fields: []Field{{"n", "u32", "1"}, {"entry", "pair", "cap"}},
			Doc: "`n` entries are read, each a `u32 id` and an `f32 bias` that is added to the raw logit; −inf bans, NaN is a fault. " +
				"cap = (len − 4) / 8; n > cap is a fault.",
		},
		{
			Name: "splice", Kind: 5, Worked: map[string]int64{"cap": 8, "n_vocab": 128256},
			Fields: []Field{{"backtrack", "u32", "1"}, {"n", "u32", "1"}, {"token", "u32", "cap"}},
			Doc: "Read when `penstock_accept` answers 2, and by bit 4 of `penstock_prepare` (then backtrack = 0 and n = 1, or more with the feature `prepare_force_many`). " +
				"cap = (len − 8) / 4; n > cap is a fault. If answers go on when the context is full, more tokens at once than the context has are a fault too.",
		},
		{
			Name: "text", Kind: 6, Worked: map[string]int64{"cap": 4096, "n_vocab": 128256},
			Fields: []Field{{"byte", "u8", "cap"}},
			Doc: "New text for `penstock_stop` and `penstock_filter`. cap = len, at least 256. Text longer than cap is passed in several calls, " +
				"each with whole characters.",
		},
	}
}

// Size returns the bytes of one element of a field's type.
func (f Field) Size() int64 {
	switch f.Type {
	case "u8":
		return 1
	case "pair":
		return 8
	default:
		return 4
	}
}

// Elements returns how many elements the field has under the worked values.
func (f Field) Elements(worked map[string]int64) int64 {
	switch f.Count {
	case "1":
		return 1
	case "words":
		return (worked["n_vocab"] + 31) / 32
	default:
		return worked[f.Count]
	}
}
