// SPDX-License-Identifier: MIT

package plugins

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// mirror gives the client what the import request tells it, in open and with each token, or each
// that is the given one.
func mirror(only ...int32) []byte {
	const at, room = 1024, 32768
	g := asm.New(`{"name":"mirror","view":"none"}`)
	tell := slices.Concat(asm.I32(at), asm.I32(at), asm.I32(room), g.Call(abi.ImportRequest), g.Call(abi.ImportOutput), asm.EqualZero, asm.EqualZero, asm.When(asm.Unreachable))
	accept := tell
	for _, token := range only {
		accept = slices.Concat(asm.Local(0), asm.I32(int(token)), asm.Equal, asm.When(tell))
	}
	return g.On(abi.ExportOpen, tell, asm.I32(0)).On(abi.ExportAccept, accept, asm.I32(0)).Wasm()
}

// mirrored is a value of it.
type mirrored struct {
	Plugin string
	Tokens int
	Value  struct {
		Model struct {
			Name, Architecture, Description string
			Digest                          string
			Parameters                      uint64
			SizeBytes                       uint64 `json:"size_bytes"`
			VocabularySize                  int    `json:"vocabulary_size"`
			ContextTrain                    int    `json:"context_train"`
			Layers                          int
		}
		Sampling struct {
			Temperature float64
			TopK        int `json:"top_k"`
			Seed        uint32
			MaxTokens   int `json:"max_tokens"`
			Stop        []string
			Samplers    []string
			LogitBias   map[string]any `json:"logit_bias"`
			Grammar     bool
			JSONSchema  any `json:"json_schema"`
		}
	}
}

// checkMirrored checks the values of an answer of three tokens.
func checkMirrored(t *testing.T, h *host.Host, values []mirrored) {
	t.Helper()
	if len(values) != 4 {
		t.Fatalf("%d values: %+v", len(values), values)
	}
	for i, v := range values {
		m, s := v.Value.Model, v.Value.Sampling
		if v.Plugin != "mirror" || v.Tokens != i {
			t.Errorf("value %d: %s after %d tokens", i, v.Plugin, v.Tokens)
		}
		if m.Name == "" || !strings.Contains(hosts.Get(t, h.URL()+"/v1/models"), m.Name) || m.Architecture == "" || len(m.Digest) != 64 || m.Parameters == 0 || m.SizeBytes == 0 ||
			m.VocabularySize == 0 || m.ContextTrain == 0 || m.Layers == 0 {
			t.Errorf("model: %+v", m)
		}
		if s.Temperature != 0.3 || s.TopK != 40 || s.Seed != 5 || s.MaxTokens != 3 || !slices.Equal(s.Stop, []string{"qqq"}) || !s.Grammar || s.JSONSchema != nil ||
			s.LogitBias["7"] != false || s.LogitBias["8"] != 1.5 || !slices.Equal(s.Samplers, []string{"plugin:mirror", "top_k", "temperature"}) {
			t.Errorf("sampling: %+v", s)
		}
	}
}

const mirrorFields = `"max_tokens":3,"temperature":0.3,"seed":5,"stop":["qqq"],"samplers":["top_k","temperature"],"logit_bias":[[7,false],[8,1.5]],
	"grammar":"root ::= [a-z ]+","ignore_eos":true,"plugins":["mirror"]`

func TestPlugins_Output_OverEachAPI(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"mirror.wasm": mirror()})
	type choice struct {
		Outputs []mirrored `json:"plugin_outputs"`
	}
	for path, body := range map[string]string{
		"/v1/completions":      `{"prompt":"Hello",` + mirrorFields + `}`,
		"/v1/chat/completions": `{"messages":[{"role":"user","content":"Hello"}],` + mirrorFields + `}`,
		"/completion":          `{"prompt":"Hello",` + mirrorFields + `}`,
	} {
		status, text := hosts.Post(t, h.URL()+path, body)
		var whole struct {
			choice  // llama-server's
			Choices []choice
		}
		if err := json.Unmarshal([]byte(text), &whole); status != http.StatusOK || err != nil {
			t.Fatalf("%s: %d %s: %v", path, status, text, err)
		}
		checkMirrored(t, h, append(whole.Choices, whole.choice)[0].Outputs)

		_, text = hosts.Post(t, h.URL()+path, strings.Replace(body, "{", `{"stream":true,`, 1))
		var with [][]mirrored // one for each frame that has some
		frames := 0
		for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok || data == "[DONE]" {
				continue
			}
			frames++
			whole.Choices, whole.Outputs = nil, nil
			if err := json.Unmarshal([]byte(data), &whole); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			if c := append(whole.Choices, whole.choice); len(c[0].Outputs) > 0 {
				with = append(with, c[0].Outputs)
			}
		}
		if len(with) != 1 || frames < 2 {
			t.Fatalf("%s: %d of %d frames have values:\n%s", path, len(with), frames, text)
		}
		checkMirrored(t, h, with[0])
	}
	if _, text := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"Hello","max_tokens":2}`); strings.Contains(text, "plugin_outputs") {
		t.Errorf("values without a plugin: %s", text)
	}
}

// outputFrame is a frame of the host with what is looked at here.
type outputFrame struct {
	Type, ID, Stream string
	Seq              int
	mirrored
}

// outputs are the values that come until a frame of a type, and the name of the stream if that
// began.
func outputs(c *hosts.Client, until string) (list []outputFrame, stream string) {
	c.T.Helper()
	for {
		_, data, err := c.Conn.Read(c.T.Context())
		var f outputFrame
		if err == nil {
			err = json.Unmarshal(data, &f)
		}
		switch {
		case err != nil:
			c.T.Fatal(err)
		case f.Type == "error":
			c.T.Fatalf("%s", data)
		case f.Type == "started":
			stream = f.Stream
		case f.Type == "output":
			list = append(list, f)
		}
		if f.Type == until {
			return list, stream
		}
	}
}

// injectable is a token that the model may be denied and that its own text gives.
func injectable(t *testing.T) (token int32, text string) {
	t.Helper()
	m := hosts.Vocabulary(t)
	for token = 300; ; token++ {
		text = m.SpecialPiece(token)
		if tokens, err := m.Tokenize(t.Context(), text, native.TokenizeOptions{}); err != nil || slices.Equal(tokens, []int32{token}) {
			return token, text
		}
	}
}

// Over the WebSocket values come one by one, in order, show what a set has changed, and come again
// to who comes back. Here they come with a token that only the client puts into the answer, so
// that it does not matter how far that is by then.
func TestPlugins_Output_OverTheWebSocket(t *testing.T) {
	token, text := injectable(t)
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"mirror.wasm": mirror(token)})
	c := hosts.Dial(t, h)
	c.Send(fmt.Sprintf(`{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":"Hello","ignore_eos":true,"temperature":0.3,"logit_bias":[[%d,false]],"plugins":["mirror"]}}`, token))
	_, stream := outputs(c, "started")
	c.Send(`{"type":"pause","id":"a"}`)
	inject := fmt.Sprintf(`{"type":"inject","id":"a","text":%q}`, text)
	c.Send(inject)
	c.Send(`{"type":"set","id":"a","sampling":{"temperature":0.7,"top_k":3}}`)
	c.Send(inject)
	c.Send(inject)
	c.Send(`{"type":"cancel","id":"a"}`)
	first, _ := outputs(c, "end")
	if len(first) != 4 {
		t.Fatalf("%d values: %+v", len(first), first)
	}
	for i, f := range first {
		s, changed := f.Value.Sampling, i > 1
		if f.ID != "a" || f.Plugin != "mirror" || i == 0 && f.Tokens != 0 || i > 0 && (f.Seq <= first[i-1].Seq || f.Tokens <= first[i-1].Tokens) {
			t.Errorf("value %d: %+v", i, f)
		}
		if want := map[bool]float64{false: 0.3, true: 0.7}[changed]; s.Temperature != want || (s.TopK == 3) != changed || s.LogitBias[strconv.Itoa(int(token))] != false {
			t.Errorf("value %d: %+v", i, s)
		}
	}
	must.Do(t, c.Conn.Close(websocket.StatusNormalClosure, ""))
	back := hosts.Dial(t, h)
	back.Send(`{"type":"attach","id":"b","stream":"` + stream + `","after":-1}`)
	again, _ := outputs(back, "end")
	for i := range again {
		again[i].ID = "a"
	}
	if err := back.Conn.Close(websocket.StatusNormalClosure, ""); err != nil { // it has all, so the host does not wait for it
		t.Error(err)
	}
	if diff := cmp.Diff(first, again, cmp.AllowUnexported(outputFrame{}, mirrored{})); diff != "" {
		t.Errorf("once (-), again (+):\n%s", diff)
	}
}
