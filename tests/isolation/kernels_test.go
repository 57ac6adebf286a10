// SPDX-License-Identifier: MIT

package isolation

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/model/kerneltest"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// answered opens a host, has it answer greedily and returns the text, what it logged and its
// kernels.
func answered(t *testing.T, change map[string]any) (text, logged string, k serving.Kernels) {
	t.Helper()
	var log hosts.Buffer
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // a model's file is tried once, and here each time
	h := hosts.OpenLogged(t, slog.NewTextHandler(&log, nil), change)
	stop := hosts.Run(t, h)
	defer stop()
	status, body := hosts.Post(t, h.URL()+"/v1/chat/completions", `{`+hosts.Frog+`,"temperature":0,"max_tokens":24}`)
	var answer struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	if json.Unmarshal([]byte(body), &answer) != nil || len(answer.Choices) != 1 {
		t.Fatalf("%d %s", status, body)
	}
	var props struct{ Kernels serving.Kernels }
	must.Do(t, json.Unmarshal([]byte(hosts.Get(t, h.URL()+"/props")), &props))
	return answer.Choices[0].Message.Content, log.String(), props.Kernels
}

// A kernel that faults and one that computes wrongly are switched off with a warning, and requests
// are answered as without them.
func TestHost_BrokenKernels_ServingGoesOn(t *testing.T) {
	const q8 = native.Operation(8) // of the built-in model's weights
	list := []native.InjectedFault{{Kernel: native.Kernel{Family: native.PenstockKernels, Operation: native.Attention}, Kind: native.WrongResult}}
	if k := native.ChoosePenstock.Order(q8)[0]; k.Family != native.PlainKernels {
		list = append(list, native.InjectedFault{Kernel: k, Kind: native.Crash})
	}
	want, _, plain := answered(t, map[string]any{"model.kernels": "plain"})
	if plain.Attention != "ggml" || len(plain.Weights) != 1 || plain.Weights[0].Kernels != "ggml" {
		t.Errorf("plain kernels: %+v", plain)
	}

	kerneltest.Break(t, list...)
	for _, f := range list {
		native.InjectFault(f)
		t.Cleanup(func() { native.InjectFault(native.InjectedFault{Kernel: f.Kernel}) })
	}
	got, logged, kernels := answered(t, nil)
	if got != want || got == "" {
		t.Errorf("%q, want as with plain kernels %q", got, want)
	}
	if len(kernels.Off) != len(list) || kernels.Attention != "ggml" || kernels.Weights[0].Kernels == list[len(list)-1].Family.String() {
		t.Errorf("/props says %+v", kernels)
	}
	for _, s := range list {
		if !strings.Contains(logged, "level=WARN") || !strings.Contains(logged, s.Kernel.String()) {
			t.Errorf("no warning of %v in\n%s", s.Kernel, logged)
		}
	}
}

// The kernels in use are the same for all models: one that is loaded beside another does not
// switch on again what is broken for that.
func TestHost_BrokenKernels_StayOffWithAModelBeside(t *testing.T) {
	k := native.ChoosePenstock.Order(native.Operation(8))[0] // for the built-in model's weights, which no weights of the other are like
	if k.Family == native.PlainKernels {
		k = native.Kernel{Family: native.PenstockKernels, Operation: native.Attention}
	}
	broken := native.InjectedFault{Kernel: k, Kind: native.Crash}
	kerneltest.Break(t, broken)
	native.InjectFault(broken)
	t.Cleanup(func() { native.InjectFault(native.InjectedFault{Kernel: k}) })
	_, _, kernels := answered(t, map[string]any{"embedding.model": hosts.SmallModel(t, "bert")})
	if len(kernels.Off) != 1 {
		t.Errorf("/props says %+v", kernels)
	}
	if native.KernelsInUse().Allows(k) {
		t.Errorf("%v is in use", k)
	}
}
