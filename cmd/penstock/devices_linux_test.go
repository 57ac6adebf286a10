// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// onDevices is how a server is started with llama.cpp's options for devices, and what its log says
// of that: a regular expression.
type onDevices struct {
	model string
	flags string
	count int // of devices; 0: one
	bytes int // that each has; 0: as it is
	says  string
}

var deviceCases = []onDevices{
	{flags: "", says: `Vulkan0 model buffer`},
	{flags: "-ngl 0", says: `PENSTOCK model buffer`},
	{flags: "-ngl 2", says: `offloaded 2/6 layers`},
	{flags: "-ngl 2 --no-op-offload", says: `offloaded 2/6 layers`},
	{flags: "-ngl 2 --no-host", says: `PENSTOCK model buffer`},
	{flags: "-ngl 2 --no-host --no-op-offload --no-kv-offload", says: `PENSTOCK model buffer`},
	{flags: "-ngl 2 --no-host --no-repack", says: `offloaded 2/6 layers`},
	{flags: "-ngl auto -fit off", says: `offloaded 6/6 layers`},
	{flags: "-ngl all --no-kv-offload", says: `CPU KV buffer`},
	{flags: "-fa on", says: `Vulkan0 KV buffer`},
	{flags: "-fa off", says: `Vulkan0 KV buffer`},
	{flags: "-ctk q8_0 -ctv q8_0", says: `Vulkan0 KV buffer`},
	{flags: "-dev none", says: `PENSTOCK model buffer`},
	{flags: "-dev Vulkan0 -sm none -mg 0 -ts 1", says: `Vulkan0 model buffer`},
	{flags: "-ot .*=CPU", says: `Vulkan0 KV buffer`},
	{flags: "-ot .*=CPU --no-host", says: `PENSTOCK model buffer`},
	{flags: "", count: 2, says: `(?s)Vulkan0 model buffer.*Vulkan1 model buffer`},
	{flags: "-ts 3,1", count: 2, says: `(?s)Vulkan0 model buffer.*Vulkan1 model buffer`},
	{flags: "-ts 0,1", count: 2, says: `Vulkan1 model buffer`},
	{flags: "-sm none -mg 1", count: 2, says: `Vulkan1 KV buffer`},
	{flags: "-dev Vulkan1", count: 2, says: `Vulkan1 KV buffer`},
	{flags: "-dev Vulkan1,Vulkan0 -ngl 3 --no-host", count: 2, says: `PENSTOCK model buffer`},
	{flags: `-ot blk\.[01]\.ffn=Vulkan1,output=CPU`, count: 2, says: `Vulkan1 model buffer`},
	{model: "experts", flags: "-fa off -cmoe", says: `Vulkan0 model buffer`},
	{model: "experts", flags: "-fa off -cmoe --no-host", says: `PENSTOCK model buffer`},
	{model: "experts", flags: "-fa off -ncmoe 2 --no-host", says: `PENSTOCK model buffer`},
	{model: "experts", flags: "-fa off -ngl 2 --no-host --no-op-offload", says: `PENSTOCK model buffer`},
}

// TestDevices_Options serves with each option that says what computes where. Greedy answers are
// those of the CPU alone, up to what the device rounds, to a prompt so long that the device is
// given what the CPU's weights are multiplied with.
func TestDevices_Options(t *testing.T) {
	needDevices(t)
	experts := filepath.Join(t.TempDir(), "experts.gguf")
	must.Do(t, writeExperts(experts))
	alone := map[string]deviceAnswer{
		"":        onDevices{flags: "-dev none --no-repack"}.answer(t, "penstock-tiny"),
		"experts": onDevices{flags: "-dev none --no-repack"}.answer(t, experts),
	}
	for _, c := range deviceCases {
		t.Run(c.String(), func(t *testing.T) {
			path := "penstock-tiny"
			if c.model != "" {
				path = experts
			}
			if err := c.answer(t, path).like(alone[c.model]); err != nil {
				t.Error(err)
			}
		})
	}
	if err := alone[""].like(alone["experts"]); err == nil {
		t.Error("answers of two models count as the same")
	}
}

// TestDevices_Refusals: what cannot be is an error that names it and lists what there is.
func TestDevices_Refusals(t *testing.T) {
	needDevices(t)
	t.Setenv("GGML_VK_VISIBLE_DEVICES", "0,0")
	for flags, want := range map[string]string{
		"-dev Vulkan7":               `device "Vulkan7" does not exist; besides the CPU there are: Vulkan0, Vulkan1`,
		"-dev Vulkan1,Vulkan1":       `device "Vulkan1" is named twice`,
		"-sm none -mg 2":             "the main GPU is 2; with split mode none it must be one of the 2 devices Vulkan0, Vulkan1",
		"-sm row":                    "split mode row needs GPUs that can split weights by rows, which Vulkan0 cannot; use split mode layer or tensor",
		"-ts 1,1,1":                  "the tensor split has 3 shares; there are 2 devices: Vulkan0, Vulkan1",
		"-ot x=Nowhere":              `names the buffers "Nowhere"; there are: Vulkan0, Vulkan1, CPU`,
		"-dev Vulkan0 -ot x=Vulkan1": `names the buffers "Vulkan1"; there are: Vulkan0, CPU`,
	} {
		said, err := child(t.Context(), t, append([]string{"serve", "--listen", "127.0.0.1:0"}, strings.Fields(flags)...)...).CombinedOutput()
		if err == nil || !strings.Contains(strings.ReplaceAll(string(said), `\"`, `"`), want) {
			t.Errorf("%s: %v, without %q:\n%s", flags, err, want, said)
		}
	}
}

// TestDevices_LessMemoryThanTheModelTakes: layers that do not fit stay with the CPU, and a line
// says so, before the model is served too.
func TestDevices_LessMemoryThanTheModelTakes(t *testing.T) {
	needDevices(t)
	want := onDevices{flags: "-dev none"}.answer(t, "penstock-tiny")
	for _, c := range []onDevices{
		{flags: "-fitt 1", bytes: 16_000_000, says: `fit: 8192 cells for 8 slots do not fit beside .* on Vulkan0 .*(?s).*offloaded 6/6 layers`},
		{flags: "-fitt 1 -c 8192 -np 8", bytes: 16_000_000, says: `fit: all layers do not fit on the GPU, .*; [1-5] of 6 layers are there`},
		{flags: "-fitt 1 -c 8192 -np 8", count: 2, bytes: 30_000_000, says: `fit: all layers do not fit on the GPU, .*; [1-5] of 6 layers are there`},
		{flags: "", bytes: 16_000_000, says: `fit: all layers do not fit on the GPU, .*; 0 of 6 layers are there`},
		{flags: "-fit off", bytes: 16_000_000, says: `offloaded 6/6 layers`},
		{flags: "-sm tensor", count: 2, says: `fit: 8192 cells for 8 slots take .* on Meta`},
	} {
		t.Run(c.String(), func(t *testing.T) {
			if err := c.answer(t, "penstock-tiny").like(want); err != nil {
				t.Error(err)
			}
		})
	}
	c := onDevices{bytes: 16_000_000}
	c.environment(t)
	said, err := child(t.Context(), t, "model", "show", "penstock-tiny").CombinedOutput()
	if err != nil || !strings.Contains(string(said), "0 of 6 layers are there; 8192 cells") {
		t.Errorf("model show: %v\n%s", err, said)
	}
}

// needDevices skips a test unless it is to use Vulkan's devices.
func needDevices(t *testing.T) {
	t.Helper()
	if os.Getenv("PENSTOCK_TEST_DEVICES") == "" {
		t.Skip("`scripts/vulkan.sh` runs this")
	}
}

func (c onDevices) String() string {
	return fmt.Sprintf("%s %s devices=%d bytes=%d", c.model, c.flags, max(c.count, 1), c.bytes)
}

// environment has the test's children see such devices. One may stand for several: llama.cpp opens
// it as often as it is listed.
func (c onDevices) environment(t *testing.T) {
	t.Helper()
	t.Setenv("GGML_VK_VISIBLE_DEVICES", "0"+strings.Repeat(",0", max(c.count-1, 0)))
	if c.bytes > 0 {
		t.Setenv("LD_PRELOAD", smallDevice(t))
		t.Setenv("DEVICE_BYTES", fmt.Sprint(c.bytes))
	}
}

// answer is what a server says that was started so.
func (c onDevices) answer(t *testing.T, model string) (a deviceAnswer) {
	t.Helper()
	c.environment(t)
	s := startServer(t.Context(), t, append([]string{model, "--log-level", "debug"}, strings.Fields(c.flags)...)...)
	(&client{url: s.url}).ask(t, http.MethodPost, "/completion", fmt.Sprintf(`{"prompt":%q,"n_predict":32,"temperature":0,"n_probs":3,"ignore_eos":true}`,
		strings.Repeat(story+" ", 9)), &a)
	s.stop(t)
	if !regexp.MustCompile(c.says).Match(s.log.Bytes()) {
		t.Errorf("the log does not say %q:\n%s", c.says, &s.log)
	}
	if strings.Contains(s.log.String(), "the GPU is not used") {
		t.Errorf("the device failed in its trial, and the CPU computed:\n%s", &s.log)
	}
	if a.Timings.Prompt < 32 {
		t.Errorf("the prompt has %d tokens: too few for a device", a.Timings.Prompt)
	}
	return a
}

// smallDevice is a library that makes devices have as little memory as DEVICE_BYTES says.
func smallDevice(t *testing.T) string {
	t.Helper()
	library := filepath.Join(t.TempDir(), "smalldevice.so")
	if said, err := exec.CommandContext(t.Context(), "cc", "-shared", "-fPIC", "-o", library, "testdata/smalldevice.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return library
}

// writeExperts writes a small mixture of experts with random weights.
func writeExperts(path string) error {
	quant, err := synth.QuantNamed("q4_0")
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // a file that was not written does not load
	shape := synth.Shape{Name: "experts", Dim: 256, Layers: 3, Heads: 4, KVHeads: 2, FFN: 256, Context: 2048, Experts: 8, Active: 2}
	return synth.Write(file, shape, "../../host/model/penstock-tiny.gguf", quant, 1)
}

// deviceAnswer is a greedy answer, with the log-probabilities of the likeliest tokens.
type deviceAnswer struct {
	Tokens []struct {
		ID      int32   `json:"id"`
		Logprob float64 `json:"logprob"`
		Top     []struct {
			ID      int32   `json:"id"`
			Logprob float64 `json:"logprob"`
		} `json:"top_logprobs"`
	} `json:"completion_probabilities"`
	Timings struct {
		Prompt int `json:"prompt_n"`
	} `json:"timings"`
}

// rounded is by how much a log-probability may move: a device in software rounds what it
// multiplies to 11 bits.
const rounded = 0.25

// like compares an answer with that of the CPU: the same tokens up to a near tie, with
// log-probabilities that differ by little.
func (a deviceAnswer) like(want deviceAnswer) error {
	for i, w := range want.Tokens {
		if i >= len(a.Tokens) {
			return fmt.Errorf("%d tokens, want %d", len(a.Tokens), len(want.Tokens))
		}
		got, gap := a.Tokens[i], math.Inf(1)
		for _, other := range w.Top {
			if other.ID == got.ID {
				gap = math.Abs(got.Logprob-other.Logprob) + math.Abs(w.Logprob-other.Logprob)
			}
		}
		if gap > rounded {
			text, _ := json.Marshal(a.Tokens)
			return fmt.Errorf("token %d is %d with a log-probability %.3f from the CPU's %d: %s", i, got.ID, gap, w.ID, text)
		}
		if got.ID != w.ID {
			return nil // a near tie; the rest is another answer
		}
	}
	return nil
}
