// SPDX-License-Identifier: MIT

package model

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/model/kerneltest"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tools/must"
)

// openTiny opens the built-in model and returns the kernels that were found broken, by their names.
func openTiny(t *testing.T, cacheDir string) map[string]string {
	t.Helper()
	file := must.Get(Open(t.Context(), "", CheckOptions{CacheDir: cacheDir}))(t)
	broken := map[string]string{}
	for _, b := range file.Broken {
		broken[b.String()] = b.Reason
		if native.KernelsInUse().Allows(b.Kernel) {
			t.Errorf("%v is in use", b)
		}
	}
	return broken
}

func TestOpen_BrokenKernels_AreFoundAndNotUsed(t *testing.T) {
	attention := native.Kernel{Family: native.PenstockKernels, Operation: native.Attention}
	list := []native.InjectedFault{{Kernel: attention, Kind: native.WrongResult}}
	want := map[string]string{attention.String(): "off by"}
	product := native.ChoosePenstock.Order(operationOf(t, "q8_0"))[0] // of the built-in model's weights
	if product.Family != native.PlainKernels {
		list = append(list, native.InjectedFault{Kernel: product, Kind: native.Crash})
		want[product.String()] = "illegal instruction"
	}
	kerneltest.Break(t, list...)
	cache := t.TempDir()
	for start := range 2 { // what is broken is never remembered
		got := openTiny(t, cache)
		for kernel, reason := range want {
			if !strings.Contains(got[kernel], reason) {
				t.Errorf("start %d: %s is broken because of %q, want %q", start, kernel, got[kernel], reason)
			}
		}
	}
	t.Setenv(kerneltest.Env, "[]")
	if got := openTiny(t, cache); len(got) > 0 {
		t.Errorf("once they are sound: %v", got)
	}
	// Now they are known as sound, so nothing is tried and nothing found.
	kerneltest.Break(t, list...)
	if got := openTiny(t, cache); len(got) > 0 {
		t.Errorf("with a note that they passed: %v", got)
	}
	found, err := filepath.Glob(filepath.Join(cache, "kernels", "*"))
	if err != nil || len(found) != 1 {
		t.Errorf("notes on kernels: %v, %v", found, err)
	}
}

func operationOf(t *testing.T, name string) native.Operation {
	t.Helper()
	for o := range native.Attention {
		if o.String() == name {
			return o
		}
	}
	t.Fatalf("no type %q", name)
	return 0
}
