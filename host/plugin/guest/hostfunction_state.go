// SPDX-License-Identifier: MIT

package guest

import "math"

// hostState gives the hidden state that the session has for the present token.
func hostState(i *Instance, c *call) uint64 {
	switch i.running {
	case Sample, Accept, Stop:
		return c.write(i, 4, bytesOf(i.session.HiddenState))
	}
	return c.write(i, 4, nil)
}

func hostLogprob(i *Instance, _ *call) uint64 {
	l := unknown
	if i.running == Accept {
		l = i.session.Logprob
	}
	return uint64(math.Float32bits(l))
}
