// SPDX-License-Identifier: MIT

package fuel

// signature is a function type. The slices alias the module.
type signature struct{ params, results []byte }

// module is what Rewrite knows of the original. Counts are of the original
// alone, so an index of anything appended fails the check against them.
type module struct {
	limits    Limits
	types     []signature
	functions []uint32 // type of each function, imported ones first
	imported  int      // functions
	tables    int
	memories  int
	// memoryPages is what the memory may become.
	memoryPages uint32

	globals  int
	elements int
	datas    int  // as the data count section says
	counted  bool // whether that section is there
	start    int  // function index, −1 = none

	mutable   []uint32 // indices of mutable globals of numeric types
	immovable string   // why instances cannot start from a snapshot; empty = they can

	names    *reader // the custom section "name"; nil: none
	lined    bool    // it says which lines its code is from
	codeBase int     // where the code section's content begins
	moves    Moves   // of all functions so far, if it is lined

	refillType uint32         // index in the rewritten module
	extraTypes []signature    // appended types
	extraIndex map[string]int // their places in extraTypes
}

// blockOf returns the encoded type of a block without parameters that yields
// results, appending a function type if one is needed.
func (m *module) blockOf(results []byte) []byte {
	switch len(results) {
	case 0:
		return []byte{emptyBlock}
	case 1:
		return results
	}
	return appendSigned(nil, int64(len(m.types))+int64(m.extraType(signature{results: results})))
}

// extraType appends a type unless it was, and returns its place among those
// that were appended.
func (m *module) extraType(s signature) uint32 {
	key := string(s.params) + "→" + string(s.results)
	i, ok := m.extraIndex[key]
	if !ok {
		i = len(m.extraTypes)
		m.extraTypes = append(m.extraTypes, s)
		m.extraIndex[key] = i
	}
	return uint32(i)
}

// moved is the index in the rewritten module of one of the original's
// functions: the import of refill comes after the original's imports.
func (m *module) moved(function int) uint32 {
	if function >= m.imported {
		function++
	}
	return uint32(function)
}

// refill, filler and copier are the indices of the appended functions; the
// last two are there with a memory only.
func (m *module) refill() uint32 { return uint32(m.imported) }
func (m *module) filler() uint32 { return uint32(len(m.functions) + 1) }
func (m *module) copier() uint32 { return m.filler() + 1 }

// fuelGlobal and stackGlobal are the indices of the appended counters.
func (m *module) fuelGlobal() uint32  { return uint32(m.globals) }
func (m *module) stackGlobal() uint32 { return uint32(m.globals + 1) }
