// SPDX-License-Identifier: MIT

package native

import (
	"slices"
	"strings"
	"testing"
)

// operation finds an operation by its name.
func operation(t testing.TB, name string) Operation {
	t.Helper()
	for o := range Attention + 1 {
		if strings.EqualFold(o.String(), name) {
			return o
		}
	}
	t.Fatalf("there is no operation %q", name)
	return 0
}

// Who would compute what on an imaginary CPU with AMX.
func TestKernelChoice_OrderWithAMX(t *testing.T) {
	has := map[Family][]string{
		PenstockKernels: {"q4_0", "q8_0", "q4_K", "q5_0", "attention"},
		AMXKernels:      {"q4_0", "q4_1", "q8_0", "q4_K", "q5_K", "q6_K", "iq4_xs"},
		RepackKernels:   {"q4_0", "q4_K"},
	}
	known := func(k Kernel) bool {
		return k.Family == PlainKernels || slices.Contains(has[k.Family], k.Operation.String())
	}
	for _, c := range []struct {
		choice    KernelChoice
		operation string
		broken    []Family
		want      []Family // allowed
	}{
		{ChoosePenstock, "q4_0", nil, []Family{PenstockKernels, RepackKernels}},
		{ChoosePenstock, "q8_0", nil, []Family{PenstockKernels}},
		{ChoosePenstock, "q4_K", nil, []Family{AMXKernels, RepackKernels}},
		{ChoosePenstock, "q6_K", nil, []Family{AMXKernels}},
		{ChoosePenstock, "q4_K", []Family{AMXKernels}, []Family{PenstockKernels, RepackKernels}},
		{ChoosePenstock, "q5_0", nil, []Family{PenstockKernels}},
		{ChoosePenstock, "q5_1", nil, nil},
		{ChoosePenstock, "attention", nil, []Family{PenstockKernels}},
		{ChoosePenstock, "q8_0", []Family{PenstockKernels}, []Family{AMXKernels}},
		{ChoosePenstock, "q8_0", []Family{PenstockKernels, AMXKernels}, nil},
		{ChoosePenstock, "q4_0", []Family{RepackKernels}, []Family{PenstockKernels}},
		{ChooseAMX, "q8_0", nil, []Family{AMXKernels}},
		{ChooseAMX, "attention", nil, []Family{PenstockKernels}},
		{ChooseGGML, "q4_0", nil, []Family{AMXKernels, RepackKernels}},
		{ChooseGGML, "attention", nil, nil},
		{ChoosePlain, "q4_0", nil, nil},
	} {
		o := operation(t, c.operation)
		var broken []Kernel
		for _, f := range c.broken {
			broken = append(broken, Kernel{f, o})
		}
		set := allowed(c.choice, "AVX-512 VNNI", known, broken)
		var got []Family
		for f := range Family(choices) {
			if set.Allows(Kernel{f, o}) {
				got = append(got, f)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %s, broken %v: allowed are %v, want %v", c.choice, c.operation, c.broken, got, c.want)
		}
	}
}

// With instructions that Penstock's products were not measured with, ggml's compute them.
func TestKernelChoice_NotMeasured(t *testing.T) {
	all := func(k Kernel) bool { return k.Family == PenstockKernels || k.Operation != Attention }
	for _, choice := range []KernelChoice{ChoosePenstock, ChooseAMX} {
		set := allowed(choice, "NEON", all, nil)
		if q := operation(t, "q4_K"); set.Allows(Kernel{PenstockKernels, q}) || !set.Allows(Kernel{AMXKernels, q}) {
			t.Errorf("%s: allowed for q4_K are %v", choice, set)
		}
		if !set.Allows(Kernel{PenstockKernels, Attention}) {
			t.Errorf("%s: attention is not Penstock's", choice)
		}
	}
}

// Every kernel of this CPU passes the check, and none with an injected fault.
func TestCheckKernel(t *testing.T) {
	t.Cleanup(func() { UseKernels(ChoosePenstock.Without()) })
	var tried int
	for f := range Family(choices) {
		for o := range Attention + 1 {
			k := Kernel{f, o}
			if !k.Known() {
				continue
			}
			tried++
			if err := CheckKernel(k); err != nil {
				t.Errorf("%v: %v", k, err)
			}
			InjectFault(InjectedFault{k, WrongResult})
			err := CheckKernel(k)
			InjectFault(InjectedFault{k, NoFault})
			if err == nil || !strings.Contains(err.Error(), "with 1 rows") {
				t.Errorf("%v with a wrong result: %v", k, err)
			}
		}
	}
	if tried == 0 {
		t.Error("there is no kernel but the plain ones; attention should be one everywhere")
	}
	if err := CheckKernel(Kernel{PenstockKernels, operation(t, "q3_K")}); err == nil {
		t.Error("a kernel that is not there passed")
	}
}

// The choice of kernels does not change during a load or a pass: changing it waits. Threads of one
// pass that disagree would wait for each other for ever, or read what was not written.
func TestUseKernels_WhilePassesRun(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 512, Sequences: 1, Threads: 2, FlashAttention: "on"})
	done := make(chan error, 1)
	go func() {
		var failed error
		for round := 0; round < 200 && failed == nil; round++ {
			var b Batch
			for i := range 24 {
				b.Add(int32(10+i), int32(i), 0, i == 23)
			}
			if failed = c.Decode(&b); failed == nil {
				failed = c.Remove(0, 0, -1)
			}
		}
		done <- failed
	}()
	defer useOwnKernels(true)
	for on := false; ; on = !on {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			useOwnKernels(on)
		}
	}
}

func TestModel_Weights(t *testing.T) {
	for _, c := range []struct {
		choice KernelChoice
		want   string
	}{{ChoosePenstock, ChoosePenstock.Order(operation(t, "q8_0"))[0].Family.String()}, {ChoosePlain, "ggml"}} {
		UseKernels(c.choice.Without())
		m := loadBuiltIn(t, ModelOptions{})
		got, err := m.Weights()
		if err != nil || len(got) != 1 || got[0].Type.String() != "q8_0" || got[0].Kernels != c.want || got[0].Bytes < 1<<20 {
			t.Errorf("%s: %+v, %v; want all in q8_0 by %s", c.choice, got, err, c.want)
		}
	}
	UseKernels(ChoosePenstock.Without())
	if AttentionKernels() != "" {
		t.Errorf("%s before any pass", AttentionKernels())
	}
	c := newContext(t, loadBuiltIn(t, ModelOptions{}), ContextOptions{Cells: 64, FlashAttention: "on"})
	var b Batch
	b.Add(1, 0, 0, true)
	want := ChoosePenstock.Order(Attention)[0].Family.String() // ggml's in a build with PENSTOCK_KERNELS=OFF
	if err := c.Decode(&b); err != nil || AttentionKernels() != want {
		t.Errorf("attention by %q, want %q: %v", AttentionKernels(), want, err)
	}
}
