// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
// #include "productbench.h"
import "C"

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// Family is a set of kernels that compute on the CPU, by whose they are.
type Family int

// The families. The plain one computes what no other does.
const (
	PenstockKernels Family = iota // llama.cpp/kernels
	AMXKernels                    // ggml's, for the matrix unit of Intel's servers
	RepackKernels                 // ggml's, for weights that it repacks
	PlainKernels                  // ggml's, for weights as they lie in the file
)

// choices is the number of families without the plain one.
const choices = int(PlainKernels)

func (f Family) String() string {
	return [...]string{"penstock", "amx", "repack", "ggml"}[f]
}

// Operation is a product with weights of one type, or attention.
type Operation int

// Attention is an operation; products are numbered by the types of their weights.
const Attention = Operation(C.PS_ATTENTION)

// String is the name of the weights' type, such as "Q4_K", or "attention".
func (o Operation) String() string { return C.GoString(C.ps_operation_name(C.int32_t(o))) }

// Kernel is a family's kernel for an operation.
type Kernel struct {
	Family    Family
	Operation Operation
}

func (k Kernel) String() string { return fmt.Sprintf("%v for %v", k.Family, k.Operation) }

// Known reports whether this build has the kernel on this CPU.
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

// KernelChoice is an order of preference of families.
type KernelChoice string

// The choices. If a family has no kernel for an operation, the next one computes it.
const (
	ChoosePenstock KernelChoice = "penstock" // Penstock's where they were measured to be faster, AMX, repack, plain
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

// Order is the kernels for an operation that this build has on this CPU, by preference; the plain
// one is always the last. The number of tokens in a pass plays no part: the weights of a tensor
// have one layout for all passes.
func (c KernelChoice) Order(o Operation) []Kernel {
	return orderOf(c.families(o, ProductInstructions()), o, Kernel.Known)
}

// measured are the instructions with which Penstock's products were measured to be faster than
// ggml's (docs/measurements.md).
var measured = []string{"AVX-512 VNNI", "AVX2"}

// beforeAMX are the types of weights that Penstock's products precede AMX for.
var beforeAMX = []string{"q4_0", "q8_0"}

// families is the order for an operation, where products are computed with some instructions.
func (c KernelChoice) families(o Operation, instructions string) []Family {
	all := orders[c]
	if o == Attention {
		return all
	}
	if !slices.Contains(measured, instructions) {
		return slices.DeleteFunc(slices.Clone(all), func(f Family) bool { return f == PenstockKernels })
	}
	if c == ChoosePenstock && !slices.Contains(beforeAMX, o.String()) {
		return orders[ChooseAMX]
	}
	return all
}

func orderOf(families []Family, o Operation, known func(Kernel) bool) []Kernel {
	var out []Kernel
	for _, f := range append(slices.Clone(families), PlainKernels) {
		if k := (Kernel{f, o}); known(k) {
			out = append(out, k)
		}
	}
	return out
}

// allowed is the set of kernels that may compute. Of Penstock's kernels and AMX it has only the
// one that comes first: they want weights in different layouts, and ggml would always take its
// own. The repack kernels stay, for shapes that neither knows.
func allowed(c KernelChoice, instructions string, known func(Kernel) bool, broken []Kernel) KernelSet {
	var out KernelSet
	for o := range Attention + 1 {
		taken := false
		for _, k := range orderOf(c.families(o, instructions), o, known) {
			if k.Family == PlainKernels || slices.Contains(broken, k) || taken && k.Family != RepackKernels {
				continue
			}
			out[k.Family] |= 1 << o
			taken = true
		}
	}
	return out
}

// Without is the set of kernels that a choice makes of those that this build has on this CPU,
// without the broken ones.
func (c KernelChoice) Without(broken ...Kernel) KernelSet {
	return allowed(c, ProductInstructions(), Kernel.Known, broken)
}

// KernelSet is the operations that each family may compute, a bit for each.
type KernelSet [choices]uint64

// Allows reports whether a kernel is in the set; the plain ones always are.
func (s KernelSet) Allows(k Kernel) bool {
	return k.Family == PlainKernels || s[k.Family]>>k.Operation&1 != 0
}

var inUse struct {
	sync.Mutex
	set KernelSet
}

// UseKernels sets which kernels compute on the CPU, for the whole process: in which layout models
// loaded from now on have their weights, and what computes the passes from now on. It waits for
// loads and passes that run. Families differ in speed and rounding.
func UseKernels(set KernelSet) {
	inUse.Lock()
	defer inUse.Unlock()
	C.ps_kernels_allow((*C.uint64_t)(&set[0]))
	inUse.set = set
}

// KernelsInUse is what UseKernels set last.
func KernelsInUse() KernelSet {
	inUse.Lock()
	defer inUse.Unlock()
	return inUse.set
}

// CheckKernel compares a kernel's results with those of plain steps, for 1, 4, 16 and 64 rows. A
// broken kernel may end the process, and what UseKernels set is lost, so this is for a process
// that does nothing else.
func CheckKernel(k Kernel) error {
	var e C.ps_error
	return failure(C.ps_kernel_check(C.int32_t(k.Family), C.int32_t(k.Operation), &e), &e)
}

// HasOwnKernels reports whether this build has Penstock's kernels. In a build with
// PENSTOCK_KERNELS=OFF ggml's compute all.
func HasOwnKernels() bool { return knownKernels()[PenstockKernels] != 0 }

// LevelVariable is the environment variable that forces a level of the CPU.
const LevelVariable = "PENSTOCK_CPU_LEVEL"

// LevelChoice tells for which level of CPUs the kernels that compute here were compiled. It is
// empty in a build for one CPU.
type LevelChoice struct {
	Used    string
	Offered []string // the levels that this CPU says it has, lowest first
	Failed  []string // those of them that computing crashed with, or gave wrong results
	Forced  bool     // by the variable
}

// chosenLevel is what init chose.
var chosenLevel struct {
	LevelChoice
	err error
}

// Level is the level of the CPU's kernels. The error says that the variable names none of this
// build and CPU.
func Level() (LevelChoice, error) { return chosenLevel.LevelChoice, chosenLevel.err }

// useLevel chooses a level. Nothing may have been computed before. Child processes get the same
// one without a trial.
func useLevel() {
	all := make([]string, int(C.ps_level_count()))
	number := map[string]C.int32_t{}
	var offered []string
	for i := range all {
		n := C.int32_t(i) //nolint:gosec // there are a few
		all[i] = C.GoString(C.ps_level_name(n))
		number[all[i]] = n
		if C.ps_level_offered(n) {
			offered = append(offered, all[i])
		}
	}
	works := func(level string) bool { return tryLevel(number[level], false) }
	chosenLevel.LevelChoice, chosenLevel.err = chooseLevel(all, offered, os.Getenv(LevelVariable), works)
	if used := chosenLevel.Used; used != "" {
		C.ps_level_use(number[used])
		_ = os.Setenv(LevelVariable, used) // it fails for no such name
	}
}

// currentLevel is the number of what is in use.
const currentLevel = -1

// tryLevel reports whether a child that computes with a level comes back with the right results.
// For tests it can be made to crash.
func tryLevel(number C.int32_t, crash bool) bool { return bool(C.ps_level_try(number, C.bool(crash))) }

// chooseLevel takes the forced level, or else the highest offered one that works. The lowest is
// taken untried.
func chooseLevel(all, offered []string, forced string, works func(string) bool) (LevelChoice, error) {
	c := LevelChoice{Offered: offered}
	switch {
	case forced != "" && len(all) == 0:
		return c, fmt.Errorf("%s is %q, but this program was built for one CPU only: unset it", LevelVariable, forced)
	case forced != "" && !slices.Contains(all, forced):
		return c, fmt.Errorf("%s is %q, and this program has only %s: name one of them, or unset it", LevelVariable, forced, strings.Join(all, ", "))
	case forced != "" && !slices.Contains(offered, forced):
		return c, fmt.Errorf("%s is %q, and this CPU has only %s: name one of them, or unset it", LevelVariable, forced, strings.Join(offered, ", "))
	case forced != "":
		c.Used, c.Forced = forced, true
		return c, nil
	}
	for _, level := range slices.Backward(offered) {
		if level == offered[0] || works(level) {
			c.Used = level
			break
		}
		c.Failed = append(c.Failed, level)
	}
	return c, nil
}

// AttentionCase is an attention operation on random numbers, for tests and benchmarks of kernels.
// The numbers depend on the sequence, the position and the head alone, so a row is the same in
// every case that has it.
type AttentionCase struct {
	HeadDimK, HeadDimV, Heads, KVHeads int
	Rows, Cells, Sequences             int // the cells of the sequences alternate; each has as many rows, which are its last
	KType, VType                       Operation
	Window                             int     // cells that a row sees; 0: all up to its own
	MaxBias                            float32 // ALiBi's; 0: none
	SoftCap                            float32 // of scores; 0: none
	Sinks                              bool
	Threads                            int
	Guard                              Guard
	Spoiled                            bool // NaN lies between the rows of numbers, and in cells that no row sees
}

// AttentionTrial is a case that can be computed.
type AttentionTrial struct {
	handle  *C.ps_attention
	results int
}

// NewAttentionTrial fills a case with numbers. The caller closes it.
func NewAttentionTrial(a AttentionCase) (*AttentionTrial, error) {
	of := C.ps_attention_case{
		head_dim_k: C.int32_t(a.HeadDimK), head_dim_v: C.int32_t(a.HeadDimV), heads: C.int32_t(a.Heads), kv_heads: C.int32_t(a.KVHeads),
		rows: C.int32_t(a.Rows), cells: C.int32_t(a.Cells), sequences: C.int32_t(a.Sequences),
		k_type: C.int32_t(a.KType), v_type: C.int32_t(a.VType), window: C.int32_t(a.Window),
		max_bias: C.float(a.MaxBias), soft_cap: C.float(a.SoftCap), threads: C.int32_t(a.Threads),
		guard: C.int32_t(a.Guard),
	}
	if a.Spoiled {
		of.spoiled = 1
	}
	if a.Sinks {
		of.sinks = 1
	}
	t := &AttentionTrial{results: a.Rows * a.Heads * a.HeadDimV}
	var e C.ps_error
	if err := failure(C.ps_attention_new(&of, &t.handle, &e), &e); err != nil {
		return nil, err
	}
	return t, nil
}

// Close frees the case's memory.
func (t *AttentionTrial) Close() { C.ps_attention_free(t.handle) }

// PutQueries replaces the queries, by row, head and number.
func (t *AttentionTrial) PutQueries(numbers []float32) error { return t.put(&numbers[0], nil, nil) }

// PutCells replaces keys and values, by cell, KV head and number.
func (t *AttentionTrial) PutCells(keys, values []float32) error {
	return t.put(nil, &keys[0], &values[0])
}

func (t *AttentionTrial) put(queries, keys, values *float32) error {
	var e C.ps_error
	return failure(C.ps_attention_put(t.handle, (*C.float)(queries), (*C.float)(keys), (*C.float)(values), &e), &e)
}

// Compute is the results by row, head and number of the values, by the kernels in use.
func (t *AttentionTrial) Compute() ([]float32, error) { return t.compute(0) }

// ComputePlainly is the same in plain steps of 64 bits.
func (t *AttentionTrial) ComputePlainly() ([]float32, error) { return t.compute(1) }

// read reads all keys and values, by the case's threads: no kernel takes less time. It returns how
// many bytes they have.
func (t *AttentionTrial) read() (int, error) {
	var bytes C.uint64_t
	var e C.ps_error
	err := failure(C.ps_attention_read(t.handle, &bytes, &e), &e)
	return int(bytes), err //nolint:gosec // they are in memory
}

func (t *AttentionTrial) compute(plainly int) ([]float32, error) {
	out := make([]float32, t.results)
	var e C.ps_error
	err := failure(C.ps_attention_compute(t.handle, C.int32_t(plainly), (*C.float)(&out[0]), &e), &e)
	return out, err
}

// Guard says whether an operation's numbers and results lie beside pages that nothing may touch,
// so that the process crashes where a kernel reads or writes beyond them.
type Guard int

// The guards.
const (
	Unguarded   = Guard(C.PS_GUARD_NONE)
	GuardBehind = Guard(C.PS_GUARD_BEHIND)
	GuardBefore = Guard(C.PS_GUARD_BEFORE)
)

// ProductCase is a product of weights and rows of random numbers, for tests and benchmarks of
// kernels. A row is the same in every case with weights of the same type and shape.
type ProductCase struct {
	Kernel
	Width, Results, Rows int
	Experts, Used        int  // a mixture's, and how many of them compute a row; 0: one matrix
	SharedInput          bool // the experts of a row have the same input
	AsInFile             bool // the weights stay as in the file, though the family would lay them out
	Threads              int
	Guard                Guard
	Spoiled              bool // NaN lies between the rows of inputs, and no expert's number between those of a row
}

// ProductTrial is a case that can be computed.
type ProductTrial struct {
	handle  *C.ps_product
	results int
}

// NewProductTrial fills a case with numbers. The caller closes it.
func NewProductTrial(p ProductCase) (*ProductTrial, error) {
	of := C.ps_product_case{
		family: C.int32_t(p.Family), _type: C.int32_t(p.Operation), width: C.int32_t(p.Width), results: C.int32_t(p.Results),
		rows: C.int32_t(p.Rows), experts: C.int32_t(p.Experts), used: C.int32_t(p.Used), threads: C.int32_t(p.Threads),
		guard: C.int32_t(p.Guard),
	}
	if p.Spoiled {
		of.spoiled = 1
	}
	if p.SharedInput {
		of.shared_input = 1
	}
	if p.AsInFile {
		of.as_in_file = 1
	}
	t := &ProductTrial{results: p.Rows * max(1, p.Used) * p.Results}
	var e C.ps_error
	if err := failure(C.ps_product_new(&of, &t.handle, &e), &e); err != nil {
		return nil, err
	}
	return t, nil
}

// Close frees the case's memory.
func (t *ProductTrial) Close() { C.ps_product_free(t.handle) }

// PutWeights replaces the weights by such as lie in a file, of all experts.
func (t *ProductTrial) PutWeights(bytes []byte) error {
	return t.put(unsafe.Pointer(&bytes[0]), nil, nil)
}

// PutInputs replaces the inputs, by row, expert used (unless these share one) and number.
func (t *ProductTrial) PutInputs(numbers []float32) error {
	return t.put(nil, (*C.float)(&numbers[0]), nil)
}

// PutExperts replaces the experts that compute each row.
func (t *ProductTrial) PutExperts(experts []int32) error {
	return t.put(nil, nil, (*C.int32_t)(&experts[0]))
}

func (t *ProductTrial) put(weights unsafe.Pointer, inputs *C.float, experts *C.int32_t) error {
	var e C.ps_error
	return failure(C.ps_product_put(t.handle, weights, inputs, experts, &e), &e)
}

// Compute is the results by row, expert used and result, by the kernels in use.
func (t *ProductTrial) Compute() ([]float32, error) { return t.compute(0) }

// ComputePlainly is the same in plain steps of 64 bits.
func (t *ProductTrial) ComputePlainly() ([]float32, error) { return t.compute(1) }

func (t *ProductTrial) compute(plainly int) ([]float32, error) {
	out := make([]float32, t.results)
	var e C.ps_error
	err := failure(C.ps_product_compute(t.handle, C.int32_t(plainly), (*C.float)(&out[0]), &e), &e)
	return out, err
}

// copyWeights copies a part of the bytes of weights, in the order of the file, to a case with
// weights of the same type and shape.
func (t *ProductTrial) copyWeights(to *ProductTrial, offset, size int) error {
	var e C.ps_error
	return failure(C.ps_product_copy_weights(t.handle, to.handle, C.size_t(offset), C.size_t(size), &e), &e)
}

// ProductInstructions is what Penstock's products are computed with on this CPU, such as "AVX2";
// "" where there are none.
func ProductInstructions() string { return C.GoString(C.ps_product_instructions()) }

// ProductBench measures products with random weights by one family's kernels. What UseKernels set
// is lost, so it is for a process that does nothing else.
type ProductBench struct{ object }

// NewProductBench makes copies of a matrix of weights, in the layout of the kernel's family.
func NewProductBench(k Kernel, width, results, copies, threads int) (*ProductBench, error) {
	b := new(ProductBench)
	var c *C.ps_product_bench
	var e C.ps_error
	err := failure(C.ps_product_bench_new(C.int32_t(k.Family), C.int32_t(k.Operation), C.int64_t(width), C.int64_t(results), C.int32_t(copies), C.int32_t(threads), &c, &e), &e)
	if err != nil {
		return nil, err
	}
	b.own(unsafe.Pointer(c), nil, func() { C.ps_product_bench_free(c) })
	return b, nil
}

// Run is the time that a product with one of the matrices takes, on average over the first of them.
func (b *ProductBench) Run(rows, copies int) (time.Duration, error) {
	if err := b.enter(); err != nil {
		return 0, err
	}
	defer b.leave()
	var seconds C.double
	var e C.ps_error
	err := failure(C.ps_product_bench_run((*C.ps_product_bench)(b.h.c), C.int64_t(rows), C.int32_t(copies), &seconds, &e), &e)
	return time.Duration(float64(seconds) * 1e9), err
}

// FaultKind is how InjectFault breaks a kernel.
type FaultKind int

// A kernel that works, one that ends the process, and one whose last number is wrong.
const (
	NoFault FaultKind = iota
	Crash
	WrongResult
)

// InjectedFault is a kernel that is broken on purpose.
type InjectedFault struct {
	Kernel
	Kind FaultKind
}

// InjectFault breaks a kernel of any family but the plain one, or repairs it. It is for tests of
// what finds broken kernels.
func InjectFault(f InjectedFault) {
	C.ps_kernel_inject_fault(C.int32_t(f.Family), C.int32_t(f.Operation), C.int32_t(f.Kind))
}
