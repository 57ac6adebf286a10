// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/watermark"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// TestWatermark_Detect_FindsTheMarkInAnAnswer has the built-in model write, and the server look
// for the mark in the text and in the tokens.
func TestWatermark_Detect_FindsTheMarkInAnAnswer(t *testing.T) {
	h := hosts.SharedWithExamples(t, "watermark")
	detect := func(body string) (r watermark.Result) {
		status, answer := hosts.Post(t, h.URL()+"/v1/watermark/detect", body)
		if err := json.Unmarshal([]byte(answer), &r); err != nil || status != 200 {
			t.Fatalf("%s: %d %s", body, status, answer)
		}
		return r
	}
	key, other := strings.Repeat("5a", 32), strings.Repeat("a5", 32)
	for scheme, config := range map[string]string{watermark.Gumbel: ``, watermark.Green: `,"scheme":"green","context":2,"gamma":0.5,"delta":4`} {
		status, answer := hosts.Post(t, h.URL()+"/completion", fmt.Sprintf(`{"prompt":"Once upon a time","n_predict":300,"ignore_eos":true,"return_tokens":true,"seed":3,
			"temperature":1.5,"top_k":0,"top_p":1,"min_p":0,"plugins":[{"name":"watermark","config":{"key":%q%s}}]}`, key, config))
		var said struct {
			Content string
			Tokens  []int32
		}
		if err := json.Unmarshal([]byte(answer), &said); err != nil || status != 200 || len(said.Tokens) != 300 {
			t.Fatalf("%d %s", status, answer)
		}
		for input, value := range map[string]any{"text": said.Content, "tokens": said.Tokens} {
			raw := must.Get(json.Marshal(value))(t)
			ask := func(key string) watermark.Result {
				return detect(fmt.Sprintf(`{"input":%s,"key":%q%s}`, raw, key, config))
			}
			if r := ask(key); r.PValue > 1e-6 || r.Score <= r.Expected || r.Tokens < 200 {
				t.Errorf("%s, %s: %+v", scheme, input, r)
			}
			if r := ask(other); r.PValue < 1e-4 {
				t.Errorf("%s, %s, another key: %+v", scheme, input, r)
			}
		}
	}
}

// TestWatermark_Gumbel_ObeysAGrammar has the mark decide among the tokens that a grammar allows,
// which the plugin does not know.
func TestWatermark_Gumbel_ObeysAGrammar(t *testing.T) {
	h := hosts.SharedWithExamples(t, "watermark")
	for seed := range 4 {
		status, answer := hosts.Post(t, h.URL()+"/completion", fmt.Sprintf(`{"prompt":"Once","n_predict":40,"seed":%d,"temperature":1.5,"grammar":"root ::= [a-f]{30}",
			"plugins":[{"name":"watermark","config":{"key":%q}}]}`, seed, strings.Repeat("5a", 32)))
		var said struct{ Content string }
		if err := json.Unmarshal([]byte(answer), &said); err != nil || status != 200 || len(said.Content) != 30 || strings.Trim(said.Content, "abcdef") != "" {
			t.Errorf("%d %s", status, answer)
		}
	}
}

// TestWatermark_Detect_NamesTheFieldThatIsWrong has requests that cannot be answered.
func TestWatermark_Detect_NamesTheFieldThatIsWrong(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	key := strings.Repeat("5a", 32)
	for body, param := range map[string]string{
		`{"input":"Hi"}`: "key", `{"input":"Hi","key":"swordfish"}`: "key",
		`{"key":"` + key + `"}`: "input", `{"input":5,"key":"` + key + `"}`: "input", `{"input":null,"key":"` + key + `"}`: "input",
		`{"input":[1,-1],"key":"` + key + `"}`: "input[1]", `{"input":["Hi"],"key":"` + key + `"}`: "input[0]",
		`{"input":"Hi","key":"` + key + `","scheme":"red"}`: "scheme", `{"input":"Hi","key":"` + key + `","context":0}`: "context",
		`{"input":"Hi","key":"` + key + `","gamma":1}`:                         "gamma",
		`{"input":[` + strings.Repeat("1,", 1<<17) + `1],"key":"` + key + `"}`: "input",
	} {
		status, answer := hosts.Post(t, h.URL()+"/v1/watermark/detect", body)
		if status != 400 || !strings.Contains(answer, `"param":"`+param+`"`) {
			t.Errorf("%.100s: %d %.200s", body, status, answer)
		}
	}
}
