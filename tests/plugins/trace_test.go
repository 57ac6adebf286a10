// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// tracedToken is a token's trace as a client reads it.
type tracedToken struct {
	ID       int
	Token    string
	How, By  string
	Before   tracedSurvey
	Prepared []struct {
		Name           string
		MS             float64
		Allowed        *int
		Banned, Biased int
	}
	Stages []struct {
		Name  string
		MS    float64
		After tracedSurvey
	}
	Accepted []struct {
		Name string
		MS   float64
	}
	TakenBack []struct {
		By, Text string
		Tokens   []struct {
			Token string
			Trace *tracedToken
		}
	} `json:"taken_back"`
}

type tracedSurvey struct {
	N    int
	Best []struct {
		ID    int
		Token string
		Logit float64
		P     float64
	}
	Chosen *struct {
		Rank int
		P    float64
	}
}

func (tr tracedToken) names() []string {
	var names []string
	for _, s := range tr.Stages {
		names = append(names, s.Name)
	}
	return names
}

// tracedText asks for 12 tokens with more fields and returns their text and traces.
func tracedText(t *testing.T, h *host.Host, fields string) (string, []tracedToken) {
	t.Helper()
	status, body := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"Once upon a time","max_tokens":12,"ignore_eos":true,"seed":5`+fields+`}`)
	var answer struct {
		Choices []struct {
			Text  string
			Trace []tracedToken
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 || len(answer.Choices) != 1 {
		t.Fatalf("%s: %d %s", fields, status, body)
	}
	return answer.Choices[0].Text, answer.Choices[0].Trace
}

// Looking changes nothing: with every kind of native chain the traced answer is the untraced one.
func TestTrace_NativeChains_SameAnswer(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	defaults := []string{"logit_bias", "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature", "dist"}
	for fields, stages := range map[string][]string{
		``:                 defaults,
		`,"temperature":0`: append(slices.Clone(defaults[:10]), "greedy"),
		`,"temperature":2`: defaults,
		`,"samplers":[]`:   {"logit_bias", "dist"},
		`,"mirostat":2`:    append(slices.Clone(defaults[:10]), "mirostat_v2"),
		`,"typical_p":0.5`: defaults,
		`,"top_k":5,"repeat_penalty":1.3,"xtc_probability":0.5,"xtc_threshold":0.05,"dry_multiplier":1`: defaults,
		`,"samplers":["adaptive_p","top_p"]`:                 {"logit_bias", "top_p", "adaptive_p"},
		`,"grammar":"root ::= [a-z ]+","samplers":["top_k"]`: {"logit_bias, top_k, grammar, dist"},
	} {
		plain, none := tracedText(t, h, fields)
		text, traces := tracedText(t, h, fields+`,"trace":true`)
		if text != plain || text == "" {
			t.Errorf("%s: traced %q, else %q", fields, text, plain)
		}
		if len(none) != 0 || len(traces) != 12 {
			t.Errorf("%s: %d traces, not asked for %d", fields, len(traces), len(none))
		}
		for _, tr := range traces {
			if !slices.Equal(tr.names(), stages) {
				t.Errorf("%s: stages %q", fields, tr.names())
			}
			last := tr.Stages[len(tr.Stages)-1].After
			if tr.Before.N < 1000 || len(tr.Before.Best) != 10 || last.N != 1 || last.Best[0].ID != tr.ID {
				t.Errorf("%s: begins with %d, ends with %+v", fields, tr.Before.N, last)
			}
		}
	}
}

// A plugin is a stage like others: what it drops is seen, and so is what its mask bans.
func TestTrace_Plugins_AreStages(t *testing.T) {
	h := hosts.SharedWithExamples(t, "min-p", "json-schema")
	_, traces := tracedText(t, h, `,"trace":true,"samplers":["top_k","plugin:min-p","temperature"],"plugins":[{"name":"min-p","config":{"min_p":0.3}}]`)
	dropped := false
	for _, tr := range traces {
		if want := []string{"logit_bias", "top_k", "plugin:min-p", "temperature", "dist"}; !slices.Equal(tr.names(), want) {
			t.Fatalf("stages %q", tr.names())
		}
		before, after := tr.Stages[1].After, tr.Stages[2].After
		kept := 0
		for _, c := range before.Best {
			if c.P >= 0.3*before.Best[0].P*1.0001 {
				kept++
			}
		}
		if after.N != kept && (kept < 10 || after.N < 10) || tr.Stages[2].MS <= 0 {
			t.Errorf("%d candidates are likely enough, the plugin left %d in %v ms", kept, after.N, tr.Stages[2].MS)
		}
		dropped = dropped || after.N < before.N
	}
	if !dropped || len(traces) != 12 {
		t.Errorf("%d traces, and nothing was dropped", len(traces))
	}
	_, traces = tracedText(t, h, `,"trace":true,"plugins":[{"name":"json-schema","config":{"schema":{"type":"boolean"}}}]`)
	if len(traces) == 0 || traces[0].Stages[0].Name != "prepare" || traces[0].Stages[0].After.N >= traces[0].Before.N {
		t.Errorf("no mask is seen: %+v", traces)
	}
}

// The whole story of a phrase that must not appear: what was taken back, by whom, and what may not
// come in its place again.
func TestTrace_BannedPhrases_TellsWhatWasTakenBack(t *testing.T) {
	h := hosts.SharedWithExamples(t, "banned-phrases")
	text, traces := tracedText(t, h, `,"trace":true,"temperature":0,"plugins":[{"name":"banned-phrases","config":{"phrases":[" there"]}}]`)
	if strings.Contains(text, " there") || len(traces) != 12 {
		t.Fatalf("%d traces of %q", len(traces), text)
	}
	first := traces[0]
	if len(first.TakenBack) != 1 || first.TakenBack[0].By != "plugin:banned-phrases" || first.TakenBack[0].Text != " there" {
		t.Fatalf("taken back before the first token: %+v", first.TakenBack)
	}
	lost := first.TakenBack[0].Tokens[0].Trace
	if lost == nil || lost.Token != " there" || lost.How != "chosen" || lost.By != "greedy" || lost.Before.Chosen.Rank != 1 || len(lost.Accepted) != 1 || lost.Accepted[0].MS <= 0 {
		t.Errorf("the token that was taken back: %+v", lost)
	}
	if first.Before.Best[0].Token != " there" || first.Before.Chosen.Rank != 2 || first.By != "greedy" {
		t.Errorf("the token in its place: %+v", first)
	}
	if first.Stages[0].Name != "prepare" || first.Stages[0].After.N != first.Before.N-1 || first.Stages[0].After.Chosen.Rank != 1 {
		t.Errorf("its stages: %+v", first.Stages)
	}
	if p := first.Prepared; len(p) != 1 || p[0].Name != "plugin:banned-phrases" || p[0].Banned != 1 || p[0].Allowed != nil || p[0].MS <= 0 {
		t.Errorf("what was prepared: %+v", p)
	}
}

// Why an answer ended is a choice as well: the trace has the token that ended it, streamed or not.
func TestTrace_EndToken_IsTraced(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	for _, stream := range []string{"false", "true"} {
		status, body := hosts.Post(t, h.URL()+"/v1/chat/completions", `{`+hosts.Frog+`,"temperature":0,"trace":true,"stream":`+stream+`}`)
		if status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		var last tracedToken
		for _, line := range strings.Split(body, "\n") {
			var part struct {
				Choices []struct{ Trace []tracedToken }
			}
			if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &part) == nil && len(part.Choices) == 1 && len(part.Choices[0].Trace) > 0 {
				last = part.Choices[0].Trace[len(part.Choices[0].Trace)-1]
			}
		}
		if !strings.HasPrefix(last.Token, "<|") || last.How != "chosen" || last.By != "greedy" || last.Before.Chosen == nil {
			t.Errorf("stream %s: the last trace is %+v", stream, last)
		}
	}
	conn, _ := must.Both(websocket.Dial(t.Context(), h.URL()+"/v1/ws", nil))(t)
	defer conn.CloseNow() //nolint:errcheck // the test is over
	conn.SetReadLimit(1 << 20)
	must.Do(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"generate","id":"a","request":{`+hosts.Frog+`,"temperature":0,"trace":true}}`)))
	for tokens, size := 0, 0; ; tokens++ {
		_, data := must.Both(conn.Read(t.Context()))(t)
		var f struct {
			Type  string
			Trace *tracedToken
		}
		must.Do(t, json.Unmarshal(data, &f))
		size += len(data)
		if f.Type == "end" {
			if f.Trace == nil || !strings.HasPrefix(f.Trace.Token, "<|") {
				t.Errorf("the end frame's trace is %+v", f.Trace)
			}
			t.Logf("%d bytes a frame", size/tokens)
			return
		}
	}
}
