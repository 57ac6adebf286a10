// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

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
