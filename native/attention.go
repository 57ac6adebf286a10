// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

// OwnAttention chooses who computes attention on the CPU, for the whole process: Penstock's kernel (llama.cpp/attention.cpp; so it is
// at the start), which is several times faster for the batches a scheduler makes, or ggml's own. Their results differ by rounding.
// Nothing may be computing while it changes.
func OwnAttention(on bool) {
	flag := C.int32_t(0)
	if on {
		flag = 1
	}
	C.ps_own_attention(flag)
}
