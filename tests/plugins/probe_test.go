// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// The probe that tools/lab/trainprobe has trained on the built-in model declines what that knows
// nothing of, also with questions it was not trained with, and leaves the others' answers as they
// are.
func TestProbe_BuiltInModel_DeclinesWhatItDoesNotKnow(t *testing.T) {
	weights := must.Get(os.ReadFile("../../plugins/examples/probe/testdata/unknown.json"))(t)
	h := hosts.SharedWithExamples(t, "probe")
	ask := func(question string, plugins string) string {
		t.Helper()
		return must.Get(hosts.Whole(t, h, fmt.Sprintf(`{"messages":[{"role":"user","content":%q}],"max_tokens":60,"temperature":0%s}`, question, plugins)))(t)
	}
	probing := `,"plugins":[{"name":"probe","config":` + strings.TrimSpace(string(weights)) + `}]`
	for _, question := range []string{"Who wrote Faust?", "How do I grow tomatoes?", "What is the mass of an electron?"} {
		if got := ask(question, ""); strings.Contains(got, "do not know") {
			t.Errorf("%s: without the probe the model says %q", question, got)
		}
		if got := ask(question, probing); got != "I do not know." {
			t.Errorf("%s: %q", question, got)
		}
	}
	for _, question := range []string{"What is 6 plus 3?", "What is the capital of Japan?", "Tell me a story about a frog."} {
		if got, want := ask(question, probing), ask(question, ""); got != want {
			t.Errorf("%s: %q, without the probe %q", question, got, want)
		}
	}
}

// width is how many numbers a state of the first model has.
func width(t *testing.T, h *host.Host) int {
	t.Helper()
	var list struct {
		Data []struct {
			Meta struct {
				Embedding int `json:"n_embd"`
			}
		}
	}
	if err := json.Unmarshal([]byte(hosts.Get(t, h.URL()+"/v1/models")), &list); err != nil || len(list.Data) == 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list.Data[0].Meta.Embedding
}

// A client is told why it is declined, and what is wrong with a probe of another model.
func TestProbe_TellsItsClient(t *testing.T) {
	h := hosts.SharedWithExamples(t, "probe")
	var row []string
	for range width(t, h) {
		row = append(row, "0")
	}
	body := `{"messages":[{"role":"user","content":"Hello!"}],"plugins":[{"name":"probe","config":{"layers":[{"weights":[[` + strings.Join(row, ",") + `]],"bias":[3]}],"say":"No."}}]}`
	_, raw := hosts.Post(t, h.URL()+"/v1/chat/completions", body)
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(raw), &answer); err != nil || len(answer.Choices) != 1 || answer.Choices[0].Message.Content != "No." || !strings.Contains(raw, `"probability":0.95257`) {
		t.Errorf("%s: %v", raw, err)
	}
	status, raw := hosts.Post(t, h.URL()+"/v1/chat/completions", strings.Replace(body, strings.Join(row, ","), "1,2", 1))
	if status != 400 || !strings.Contains(raw, "train the probe on this model") {
		t.Errorf("a probe of another model: %d %s", status, raw)
	}
}

// A recording of a probe has the states that it read, and plays again without the model; and the
// model may lie on workers.
func TestProbe_RecordedAndReplayed(t *testing.T) {
	one, two := hosts.StartWorker(t), hosts.StartWorker(t)
	for name, settings := range map[string]map[string]any{"here": nil, "on workers": {"workers.rpc": []string{one.Address, two.Address}, "model.tensor_split": "1,1"}} {
		h := hosts.OpenWithPlugins(t, settings, map[string][]byte{"probe.wasm": hosts.Example(t, "probe")})
		width := width(t, h)
		row := strings.Repeat("0.5,-0.5,", width/2)
		f := recorded(t, h, "/v1/chat/completions", `{`+hosts.Frog+`,"max_tokens":30,"seed":3,"record":true,"plugins":[{"name":"probe","config":{"layers":[{"weights":[[`+
			strings.TrimSuffix(row, ",")+`]],"bias":[0]}],"then":"rewind","back":3,"above":0.9}}]}`)
		states := callsOf(f, "probe", func(c *session.Call) bool {
			for i := range c.Deeds {
				if d := &c.Deeds[i]; d.Do == abi.ImportState && d.Got != nil && len(d.Got.Numbers) == width && d.Got.Numbers[0] != d.Got.Numbers[1] {
					return true
				}
			}
			return false
		})
		splices := callsOf(f, "probe", func(c *session.Call) bool { return c.Splice != nil })
		if states < 10 || splices == 0 {
			t.Errorf("%s: %d states were read, and tokens taken back %d times", name, states, splices)
		}
		if d := replay(t, f, hosts.Example(t, "probe"), 3); d != nil {
			t.Errorf("%s: %v", name, d)
		}
	}
}

// What a program reads after a branch is the state that other plugins get after the same tokens:
// that from which the next one is drawn, of the last layer or of another.
func TestProbe_ProgramsReadTheStateOfOthers(t *testing.T) {
	const room, at, list, best, tokens = 4096, 4096, 2048, 2064, 12
	var last []float32
	for _, layer := range []int{0, -2} {
		reader := asm.New(fmt.Sprintf(`{"name":"reader","view":"none","state_layer":%d}`, layer))
		reader.On(abi.ExportAccept, asm.I32(at), asm.I32(room), reader.Call(abi.ImportState), asm.Drop, asm.I32(0))
		writer := asm.New(fmt.Sprintf(`{"name":"writer","state_layer":%d}`, layer))
		calls := func(name string, args ...int) (code []byte) {
			for _, a := range args {
				code = append(code, asm.I32(a)...)
			}
			return slices.Concat(code, writer.Call(name), asm.Drop)
		}
		writer.On(abi.ExportRun, calls(abi.ImportBranchOpen, 0, 0), asm.Each(0, asm.I32(tokens),
			calls(abi.ImportBranchesWait, list, 1, 1, 0), calls(abi.ImportBranchHiddenState, 0, at, room), calls(abi.ImportBranchCandidates, 0, 1, best),
			calls(abi.ImportShow, 0, best+8, 0, 1), calls(abi.ImportBranchAppend, 0, best+8, 1, 0)), asm.I32(0))
		h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"reader.wasm": reader.Wasm(), "writer.wasm": writer.Wasm()})
		width := width(t, h)
		states := func(name, do string) (list []session.Logits) {
			f := recorded(t, h, "/v1/completions", fmt.Sprintf(`{"prompt":"Once upon a time","max_tokens":%d,"temperature":0,"record":true,"plugins":["%s"]}`, tokens, name))
			callsOf(f, name, func(c *session.Call) bool {
				for _, d := range c.Deeds {
					if d.Do == do && d.Got != nil {
						list = append(list, d.Got.Numbers)
					}
				}
				return false
			})
			return list
		}
		of, want := states("writer", abi.ImportBranchHiddenState), states("reader", abi.ImportState)
		if len(of) != tokens || len(want) != tokens || len(want[0]) != width {
			t.Fatalf("a program reads %d states, and a stage %d of %d numbers", len(of), len(want), len(want[0]))
		}
		near := func(a, b float32) bool { return math.Abs(float64(a-b)) <= 1e-3*math.Max(1, math.Abs(float64(b))) }
		for i := range want {
			if !slices.EqualFunc(of[i], want[i], near) {
				t.Errorf("state %d of a program begins with %v, a stage's with %v", i, of[i][:4], want[i][:4])
			}
			if i > 0 && slices.EqualFunc(want[i], want[0], near) {
				t.Errorf("state %d is as the first", i)
			}
		}
		if slices.Equal(want[0], last) {
			t.Errorf("layer %d has the state of the last", layer)
		}
		last = want[0]
	}
}
