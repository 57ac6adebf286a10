// SPDX-License-Identifier: MIT

package programs

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// failingProgram is a program that shows a token and then does what no program may.
func failingProgram() []byte {
	g := asm.New(`{"name":"failing","branches":1}`)
	return g.On(abi.ExportRun, asm.Poke(440, 374), asm.I32(0), asm.I32(440), asm.I32(0), asm.I32(1), g.Call(abi.ImportShow), asm.Drop,
		asm.I32(400), asm.I32(0), asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchesWait), asm.Drop, asm.Unreachable).Wasm()
}

// dialects are requests for 12 tokens after a prompt, by route, without what makes them a
// program's.
var dialects = map[string]string{
	"/v1/completions":      `{"prompt":"Once upon a time","temperature":0,"max_tokens":12`,
	"/v1/chat/completions": `{` + hosts.Frog + `,"temperature":0,"max_tokens":12`,
	"/v1/responses":        `{"input":"Tell me a story about a frog.","temperature":0,"max_output_tokens":12`,
	"/v1/messages":         `{` + hosts.Frog + `,"temperature":0,"max_tokens":12`,
	"/api/generate":        `{"model":"penstock-tiny","stream":false,"prompt":"Once upon a time","options":{"temperature":0,"num_predict":12}`,
	"/api/chat":            `{"model":"penstock-tiny","stream":false,` + hosts.Frog + `,"options":{"temperature":0,"num_predict":12}`,
	"/completion":          `{"prompt":"Once upon a time","temperature":0,"n_predict":12`,
}

// A program answers in every dialect, whole and streamed, and the usage tells what it cost where
// there is a place for it.
func TestPrograms_Dialects_Answer(t *testing.T) {
	h := openWithBeam(t, nil)
	const beam = `,"plugins":[{"name":"beam","config":{"width":2}}]`
	for route, body := range dialects {
		t.Run(route, func(t *testing.T) {
			status, whole := hosts.Post(t, h.URL()+route, body+beam+`}`)
			if status != http.StatusOK || !strings.Contains(whole, "12") {
				t.Errorf("%d %s", status, whole)
			}
			details := map[string]string{"/v1/completions": `"branch_tokens":`, "/v1/chat/completions": `"branch_tokens":`, "/v1/responses": `"branch_tokens":`, "/completion": `"branch_n":`}
			if want := details[route]; !strings.Contains(whole, want) {
				t.Errorf("no %s in %s", want, whole)
			}
			status, stream := hosts.Post(t, h.URL()+route, strings.Replace(body, `"stream":false,`, "", 1)+beam+map[bool]string{true: `}`, false: `,"stream":true}`}[strings.HasPrefix(route, "/api")])
			if status != http.StatusOK || strings.Contains(stream, `"error":{`) {
				t.Errorf("streamed: %d %s", status, stream)
			}
			_, plain := hosts.Post(t, h.URL()+route, body+`}`)
			if strings.Contains(plain, "branch_tokens") || strings.Contains(plain, "branch_n") {
				t.Errorf("an ordinary answer has tokens of branches: %s", plain)
			}
		})
	}
}

// What a program does wrong is an error that names it, in every dialect, whole and streamed; where
// faults are skipped the answer goes on.
func TestPrograms_Dialects_Fail(t *testing.T) {
	for route, body := range dialects {
		t.Run(route, func(t *testing.T) {
			h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"failing.wasm": failingProgram()}) // a client of another would have to wait
			status, whole := hosts.Post(t, h.URL()+route, body+`,"plugins":["failing"]}`)
			if status < 400 || !strings.Contains(whole, "failing") || !strings.Contains(whole, abi.ExportRun) {
				t.Errorf("%d %s", status, whole)
			}
			streams := strings.Replace(body, `"stream":false,`, "", 1)
			if !strings.HasPrefix(route, "/api") {
				streams += `,"stream":true`
			}
			if _, stream := hosts.Post(t, h.URL()+route, streams+`,"plugins":["failing"]}`); !strings.Contains(stream, abi.ExportRun) || !strings.Contains(stream, "error") {
				t.Errorf("streamed: %s", stream)
			}
			status, skipped := hosts.Post(t, h.URL()+route, body+`,"plugins":[{"name":"failing","on_error":"skip"}]}`)
			if status != http.StatusOK || !strings.Contains(skipped, " there") || !strings.Contains(skipped, "12") {
				t.Errorf("skipped: %d %s", status, skipped)
			}
		})
	}
}

// The n best of a beam search are the choices, in an order, each with its reason and with usage
// for all.
func TestPrograms_Choices_HaveTheirReasonsAndUsage(t *testing.T) {
	h := openWithBeam(t, nil)
	var a struct {
		Choices []struct {
			Index  int
			Text   string
			Reason string `json:"finish_reason"`
		}
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
			Total      int `json:"total_tokens"`
			Details    struct {
				Branch int `json:"branch_tokens"`
			} `json:"completion_tokens_details"`
		}
	}
	_, body := hosts.Post(t, h.URL()+"/v1/completions", once(3, 8)+`,"n":2,"ignore_eos":true}`)
	if err := json.Unmarshal([]byte(body), &a); err != nil || len(a.Choices) != 2 {
		t.Fatalf("%v: %s", err, body)
	}
	for i, c := range a.Choices {
		if c.Index != i || c.Reason != "length" || c.Text == "" {
			t.Errorf("%+v", c)
		}
	}
	u := a.Usage
	if a.Choices[0].Text == a.Choices[1].Text || u.Prompt != 4 || u.Completion != 16 || u.Total != 20 || u.Details.Branch < 1 || u.Details.Branch > 8 {
		t.Errorf("%s", body)
	}
	_, stream := hosts.Post(t, h.URL()+"/v1/completions", once(3, 8)+`,"n":2,"ignore_eos":true,"stream":true,"trace":true,"stream_options":{"include_usage":true}}`)
	for _, want := range []string{`"index":1`, `"choice":0`, `"choice":1`, `"completion_tokens":16`} {
		if !strings.Contains(stream, want) {
			t.Errorf("no %s in %s", want, stream)
		}
	}
	if n := strings.Count(stream, `"finish_reason":"length"`); n != 2 {
		t.Errorf("%d choices have a reason", n)
	}
}

// Over the WebSocket a program's branches come in frames of their own, before the end.
func TestPrograms_WebSocket_TellsOfBranches(t *testing.T) {
	h := openWithBeam(t, nil)
	ctx := context.Background()
	conn, _ := must.Both(websocket.Dial(ctx, h.URL()+"/v1/ws", nil))(t)
	defer conn.CloseNow() //nolint:errcheck // the host closes it
	conn.SetReadLimit(1 << 22)
	frame := `{"type":"generate","id":"a","request":` + once(3, 20) + `,"trace":true}}`
	must.Do(t, conn.Write(ctx, websocket.MessageText, []byte(frame)))
	branches, chosen, seq := 0, 0, int64(-1)
	for {
		_, raw := must.Both(conn.Read(ctx))(t)
		var f struct {
			Type     string
			ID       string
			Seq      *int64
			Reason   string
			Branches []struct{ Branch, Chosen int }
			Usage    struct {
				Completion int `json:"completion_tokens"`
				Details    struct {
					Branch int `json:"branch_tokens"`
				} `json:"completion_tokens_details"`
			}
		}
		must.Do(t, json.Unmarshal(raw, &f))
		switch f.Type {
		case "branches", "token", "output":
			if *f.Seq != seq+1 && seq >= 0 {
				t.Errorf("after event %d comes %s", seq, raw)
			}
			seq = *f.Seq
			for _, b := range f.Branches {
				branches, chosen = max(branches, b.Branch), max(chosen, b.Chosen)
			}
		case "error":
			t.Fatalf("%s", raw)
		case "end":
			if last := 4 + f.Usage.Completion; f.Usage.Details.Branch < 15 || branches < 3 || chosen != last && chosen != last-1 { // the last token may be in no branch
				t.Errorf("%s after %d branches, of which %d tokens were chosen", raw, branches, chosen)
			}
			return
		}
	}
}
