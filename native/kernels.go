// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"slices"
	"sync"
)

// Family says whose kernels compute on the CPU.
type Family int

// The families. What none of the others computes is left to the plain ones.
const (
	PenstockKernels Family = iota // llama.cpp/kernels
	AMXKernels                    // ggml's, for a matrix unit that Intel's servers have
	RepackKernels                 // ggml's, for weights that it lays out anew
	PlainKernels                  // ggml's, for weights as they lie in the file
)

// choices are the families before the plain ones.
const choices = int(PlainKernels)

func (f Family) String() string {
	return [...]string{"penstock", "amx", "repack", "ggml"}[f]
}

// Operation is a product with weights of one type, or attention.
type Operation int

// Attention is the operation beside products, which are numbered by the types of their weights.
const Attention = Operation(C.PS_ATTENTION)

// String is the name of the weights' type, such as "Q4_K", or "attention".
func (o Operation) String() string { return C.GoString(C.ps_operation_name(C.int32_t(o))) }

// Kernel is one that may fail: a family's for an operation.
type Kernel struct {
	Family    Family
	Operation Operation
}

func (k Kernel) String() string { return fmt.Sprintf("%v for %v", k.Family, k.Operation) }

// Known tells whether this build has the kernel on this CPU.
func (k Kernel) Known() bool {
	return k.Family == PlainKernels || knownKernels()[k.Family]>>k.Operation&1 != 0
}

// knownKernels are the operations that each family has on this CPU, a bit for each.
var knownKernels = sync.OnceValue(func() (out [choices]uint64) {
	for f := range out {
		out[f] = uint64(C.ps_kernels_known(C.int32_t(f)))
	}
	return out
})

// KernelChoice is a wish: which families go first.
type KernelChoice string

// The choices. Where the first family does not know an operation the next one computes it.
const (
	ChoosePenstock KernelChoice = "penstock" // Penstock's, AMX, repack, plain
	ChooseAMX      KernelChoice = "amx"      // AMX, Penstock's, repack, plain
	ChooseGGML     KernelChoice = "ggml"     // as llama.cpp itself: AMX, repack, plain
	ChoosePlain    KernelChoice = "plain"
)

var orders = map[KernelChoice][]Family{
	ChoosePenstock: {PenstockKernels, AMXKernels, RepackKernels},
	ChooseAMX:      {AMXKernels, PenstockKernels, RepackKernels},
	ChooseGGML:     {AMXKernels, RepackKernels},
	ChoosePlain:    {},
}

// Order is the kernels for an operation that this build has on this CPU, by preference; the plain one is always the last. The weights of
// a tensor have one layout for any number of rows, so they cannot be chosen by that.
func (c KernelChoice) Order(o Operation) []Kernel { return orderOf(orders[c], o, Kernel.Known) }

func orderOf(families []Family, o Operation, known func(Kernel) bool) []Kernel {
	var out []Kernel
	for _, f := range append(slices.Clone(families), PlainKernels) {
		if k := (Kernel{f, o}); known(k) {
			out = append(out, k)
		}
	}
	return out
}

// allowed is the operations that each family may compute, a bit for each. Of Penstock's kernels and AMX only the first may: they want
// weights in different layouts, and ggml would always take its own. The others stay behind them, for shapes that those do not know.
func allowed(families []Family, known func(Kernel) bool, broken []Kernel) KernelSet {
	var out KernelSet
	for o := range Attention + 1 {
		taken := false
		for _, k := range orderOf(families, o, known) {
			if k.Family == PlainKernels || slices.Contains(broken, k) || taken && k.Family != RepackKernels {
				continue
			}
			out[k.Family] |= 1 << o
			taken = true
		}
	}
	return out
}

// Without is the set of kernels that a choice makes of those that this build has on this CPU, but for broken ones.
func (c KernelChoice) Without(broken ...Kernel) KernelSet {
	return allowed(orders[c], Kernel.Known, broken)
}

// KernelSet is the operations that each family may compute, a bit for each.
type KernelSet [choices]uint64

// Allows tells whether a kernel is in the set; the plain ones always are.
func (s KernelSet) Allows(k Kernel) bool {
	return k.Family == PlainKernels || s[k.Family]>>k.Operation&1 != 0
}

var inUse struct {
	sync.Mutex
	set KernelSet
}

// UseKernels says who computes on the CPU, for the whole process: the layout of weights is decided for models that are loaded from now
// on, the rest for passes from now on. It waits for loads and passes that run. Families differ in speed and rounding.
func UseKernels(set KernelSet) {
	inUse.Lock()
	defer inUse.Unlock()
	C.ps_kernels_allow((*C.uint64_t)(&set[0]))
	inUse.set = set
}

// KernelsInUse is what UseKernels was told last.
func KernelsInUse() KernelSet {
	inUse.Lock()
	defer inUse.Unlock()
	return inUse.set
}

// CheckKernel compares a kernel's results with those of plain steps, for 1, 4, 16 and 64 rows. One that is broken may end the process, and
// the choice of kernels is lost, so this is for a process that does nothing else.
func CheckKernel(k Kernel) error {
	var e C.ps_error
	return failure(C.ps_kernel_check(C.int32_t(k.Family), C.int32_t(k.Operation), &e), &e)
}

// HasOwnKernels tells whether Penstock's kernels are in this build. Where it was made with PENSTOCK_KERNELS=OFF, ggml's compute all.
func HasOwnKernels() bool { return knownKernels()[PenstockKernels] != 0 }
