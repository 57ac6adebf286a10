// SPDX-License-Identifier: MIT

package serving

import (
	"fmt"
	"strings"
)

// Kernels tell whose kernels compute on the CPU: "penstock", "amx", "repack" or "ggml"; a device's
// name stands for a device.
type Kernels struct {
	Attention string          `json:"attention"`
	Weights   []WeightKernels `json:"weights"` // most bytes first
	Off       []KernelOff     `json:"off"`
	NoGPU     string          `json:"no_gpu,omitempty"` // why a GPU that is there is not used
}

// WeightKernels are those of products with weights of one type.
type WeightKernels struct {
	Type    string `json:"type"`
	Kernels string `json:"kernels"`
	Bytes   uint64 `json:"bytes"`
}

// KernelOff is one that was found broken and is not used.
type KernelOff struct {
	Kernel string `json:"kernel"`
	Reason string `json:"reason"`
}

// String is a line such as "attention: penstock; q4_K: amx 95%, q6_K: amx 5%".
func (k Kernels) String() string {
	var all uint64
	for _, w := range k.Weights {
		all += w.Bytes
	}
	var parts []string
	for _, w := range k.Weights {
		parts = append(parts, fmt.Sprintf("%s: %s %d%%", w.Type, w.Kernels, (100*w.Bytes+all/2)/max(all, 1)))
	}
	return "attention: " + k.Attention + "; " + strings.Join(parts, ", ")
}
