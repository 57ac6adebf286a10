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
	globals   int
	elements  int
	datas     int  // as the data count section says
	counted   bool // whether that section is there
	start     int  // function index, −1 = none

	mutable   []uint32 // indices of mutable globals of numeric types
	immovable string   // why instances cannot start from a snapshot; empty = they can

	extraTypes [][]byte       // results of appended block types
	extraIndex map[string]int // their places in extraTypes
}

// blockOf returns the encoded type of a block without parameters that yields
// results, appending a function type where one is needed.
func (m *module) blockOf(results []byte) []byte {
	switch len(results) {
	case 0:
		return []byte{emptyBlock}
	case 1:
		return results
	}
	i, ok := m.extraIndex[string(results)]
	if !ok {
		i = len(m.extraTypes)
		m.extraTypes = append(m.extraTypes, results)
		m.extraIndex[string(results)] = i
	}
	return appendSigned(nil, int64(len(m.types)+i))
}

// fuelGlobal and stackGlobal are the indices of the appended counters.
func (m *module) fuelGlobal() uint32  { return uint32(m.globals) }
func (m *module) stackGlobal() uint32 { return uint32(m.globals + 1) }
