// SPDX-License-Identifier: MIT

package guest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"

	"github.com/penstock/penstock/plugins/abi"
)

// Deed is a call of a function that programs have, with what the guest gave and what came of it,
// so that it can be written down, and answered once more without a model. Memory is in it,
// addresses are not.
type Deed struct {
	Import  string
	Args    []int32 // its parameters but for addresses
	Tokens  []int32 // what the guest gave: tokens and handles
	Numbers []float32
	Text    string
	Digest  string // of what is long: SHA-256 in hexadecimal digits

	Answer int32
	Gave   Given
	Fuel   int64 // that it took
	Added  int64 // that a wait brought
	Failed bool  // it has ended the run
}

// Given is what a guest got in its memory.
type Given struct {
	Tokens  []int32
	Numbers []float32
	Text    string
}

// shape is where the memory is that a function reads and writes: parameters by their index, −1 for
// none.
type shape struct {
	in, logs, out part
}

// part is a list in guest memory.
type part struct {
	kind kind
	at   int // the parameter with its address
	n    int // the parameter with its length, or with the room for it
}

type kind uint8

const (
	noList         kind = iota
	listTokens          // u32 each
	listNumbers         // f32 each
	listPairs           // a u32 and an f32 each
	listWords           // u32 each, of which the digest is noted
	listText            // bytes
	listSame            // tokens, as many as were given
	listCandidates      // as branch_candidates writes them
)

// shapes are those of the functions of programs.
var shapes = map[string]shape{
	abi.ImportBranchOpen:         {in: part{listTokens, 0, 1}},
	abi.ImportBranchOpenMessages: {in: part{listText, 0, 1}},
	abi.ImportBranchFork:         {},
	abi.ImportBranchClose:        {},
	abi.ImportBranchCut:          {},
	abi.ImportBranchAppend:       {in: part{listTokens, 1, 2}},
	abi.ImportBranchTokens:       {out: part{listTokens, 2, 3}},
	abi.ImportBranchesWait:       {in: part{listTokens, 0, 1}, out: part{listSame, 0, 1}},
	abi.ImportBranchCandidates:   {out: part{listCandidates, 2, 1}},
	abi.ImportBranchLogits:       {out: part{listNumbers, 1, 2}},
	abi.ImportBranchScores:       {out: part{listNumbers, 2, 3}},
	abi.ImportBranchMask:         {in: part{listWords, 1, 2}},
	abi.ImportBranchMix:          {in: part{listPairs, 1, 2}},
	abi.ImportBranchGrammar:      {},
	abi.ImportChainOpen:          {in: part{listText, 0, 1}},
	abi.ImportBranchSample:       {},
	abi.ImportBranchRun:          {},
	abi.ImportBranchState:        {},
	abi.ImportBranchReason:       {out: part{listText, 0, 1}},
	abi.ImportShow:               {in: part{listTokens, 1, 3}, logs: part{listNumbers, 2, 3}},
	abi.ImportAdopt:              {},
}

// IsDeed reports whether programs can do so.
func IsDeed(name string) bool {
	_, ok := shapes[name]
	return ok
}

// noted has a watcher learn of a function's calls, and a player answer them.
func (sh shape) noted(name string, live hostFunction) hostFunction {
	return func(i *Instance, s []uint64) {
		w := i.session.Watcher
		if w == nil || i.branches == nil || i.running != Run {
			live(i, s)
			return
		}
		given := append([]uint64(nil), s...)
		d := Deed{Import: name}
		sh.read(i, s, &d)
		defer func() {
			if failed := recover(); failed != nil {
				d.Failed = true
				w.Did(&d)
				panic(failed)
			}
			w.Did(&d)
		}()
		if i.branches.replay != nil {
			sh.replay(i, given, &d)
			s[0] = i32(d.Answer)
			return
		}
		left, limit := i.meter.Left(), i.fuelLimit
		live(i, s)
		d.Answer, d.Added = int32(uint32(s[0])), i.fuelLimit-limit
		d.Fuel = left - i.meter.Left() + d.Added
		sh.gave(i, given, &d)
	}
}

// read notes what the guest gives. What does not lie in memory is nothing: the call will fail.
func (sh shape) read(i *Instance, s []uint64, d *Deed) {
	for k, v := range s {
		if !slices.ContainsFunc([]part{sh.in, sh.logs, sh.out}, func(p part) bool { return p.kind != noList && p.at == k }) {
			d.Args = append(d.Args, int32(uint32(v)))
		}
	}
	for k, p := range []part{sh.in, sh.logs} {
		if p.kind == noList || k == 1 && uint32(s[p.at]) == 0 {
			continue
		}
		b := i.peek(s[p.at], p.size(uint64(uint32(s[p.n]))))
		switch p.kind {
		case listTokens:
			d.Tokens = tokensIn(b)
		case listNumbers:
			d.Numbers = numbersIn(b)
		case listText:
			d.Text = string(b)
		case listWords:
			sum := sha256.Sum256(b)
			d.Digest = hex.EncodeToString(sum[:])
		case listPairs:
			for ; len(b) >= 8; b = b[8:] {
				d.Tokens, d.Numbers = append(d.Tokens, tokensIn(b[:4])...), append(d.Numbers, numbersIn(b[4:8])...)
			}
		}
	}
}

// size is how many bytes n entries have.
func (p part) size(n uint64) uint64 {
	switch p.kind {
	case listText:
		return n
	case listPairs:
		return 8 * n
	case listCandidates:
		return 8 + 8*n
	}
	return 4 * n
}

// peek is guest memory, for which nothing is charged; nil where there is none.
func (i *Instance) peek(ptr, n uint64) []byte {
	all := i.region.Bytes()
	if at := uint64(uint32(ptr)); n <= uint64(len(all)) && at <= uint64(len(all))-n {
		return all[at : at+n]
	}
	return nil
}

func tokensIn(b []byte) (list []int32) {
	for ; len(b) >= 4; b = b[4:] {
		list = append(list, int32(binary.LittleEndian.Uint32(b)))
	}
	return list
}

func numbersIn(b []byte) (list []float32) {
	for ; len(b) >= 4; b = b[4:] {
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return list
}

// gave notes what the guest got.
func (sh shape) gave(i *Instance, s []uint64, d *Deed) {
	p, n := sh.out, uint64(max(0, d.Answer))
	if p.kind == noList || p.kind != listSame && n > uint64(uint32(s[p.n])) { // it did not fit
		return
	}
	if p.kind == listSame {
		n = uint64(uint32(s[p.n]))
	}
	switch room := uint64(uint32(s[p.n])); p.kind {
	case listTokens, listSame:
		d.Gave.Tokens = tokensIn(i.peek(s[p.at], 4*n))
	case listNumbers:
		d.Gave.Numbers = numbersIn(i.peek(s[p.at], 4*n))
	case listText:
		d.Gave.Text = string(i.peek(s[p.at], n))
	case listCandidates:
		b := i.peek(s[p.at], p.size(room))
		d.Gave.Tokens = tokensIn(b[8 : 8+4*n])
		d.Gave.Numbers = append(numbersIn(b[:8]), numbersIn(b[8+4*room:8+4*room+4*n])...)
	}
}
