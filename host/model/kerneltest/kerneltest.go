// SPDX-License-Identifier: MIT

// Package kerneltest breaks kernels of the CPU in a test program and its children.
package kerneltest

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/penstock/penstock/native"
)

// Env names the kernels that are broken in every process of a test program, as JSON of
// native.InjectedFault.
const Env = "PENSTOCK_TEST_KERNEL_FAULTS"

// Main breaks the kernels that Env names. A TestMain begins with it.
func Main() {
	var list []native.InjectedFault
	if text, ok := os.LookupEnv(Env); ok {
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			panic(err)
		}
	}
	for _, f := range list {
		native.InjectFault(f)
	}
}

// Break breaks kernels in the children that a test starts from now on. When it ends, this process
// chooses among all kernels again.
func Break(t *testing.T, list ...native.InjectedFault) {
	t.Helper()
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(Env, string(text))
	t.Cleanup(func() { native.UseKernels(native.ChoosePenstock.Without()) })
}
