// SPDX-License-Identifier: MIT

package guest

import (
	"math"
	"unsafe"

	"github.com/penstock/penstock/plugins/abi"
)

// hostState gives the hidden state that the session has for the present token.
func hostState(i *Instance, s []uint64) {
	var state []float32
	switch i.running {
	case Sample, Accept, Stop:
		state = i.session.HiddenState
	}
	room := int(uint32(s[1]))
	i.write(s, s[0], s[1], 4, floatBytes(state))
	q := Question{Import: abi.ImportState, Count: int32(len(state))}
	if len(state) <= room {
		q.State = state
	}
	i.asked(q)
}

// floatBytes are the floats as they lie in memory, which is little-endian as a guest's is.
func floatBytes(f []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), 4*len(f))
}

func hostLogprob(i *Instance, s []uint64) {
	l := unknown
	if i.running == Accept {
		l = i.session.Logprob
	}
	s[0] = uint64(math.Float32bits(l))
}
