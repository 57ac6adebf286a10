// SPDX-License-Identifier: MIT

package models

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// drawn is a request for a chat about a drawing. It names no model.
func drawn(d Drawing, question string) string {
	picture := "data:image/png;base64," + base64.StdEncoding.EncodeToString(d.PNG())
	return fmt.Sprintf(`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":%q}},{"type":"text","text":%q}]}],"temperature":0,"max_tokens":40}`,
		picture, question)
}

// saidBy is what a chat completion says, and by which model.
func saidBy(t *testing.T, body string) (text, by string) {
	t.Helper()
	var answer struct {
		Model   string
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Choices) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	return answer.Choices[0].Message.Content, answer.Model
}

// The built-in model that sees is right about drawings that it was not trained on, as its model
// card says.
func TestBuiltInSeeing_HeldOutDrawings(t *testing.T) {
	asked, least := steadytest.InLongTest(120, 12), 0.8 // the sample is the same each time
	if steadytest.Long() {
		least = 0.9
	}
	w := must.Get(openWorld("../../tools/tinymodel/world.json"))(t)
	h := hosts.Open(t, nil)
	defer hosts.Run(t, h)()
	for i, kind := range drawingQuestions {
		t.Run(kind.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(2026, uint64(i)))
			right := 0
			var wrong []string
			for range asked {
				q := kind.Ask(w, r)
				status, body := hosts.Post(t, h.URL()+"/v1/chat/completions", drawn(q.Drawing, q.Question))
				if status != http.StatusOK {
					t.Fatal(status, body)
				}
				text, by := saidBy(t, body)
				if by != model.BuiltInVisionName {
					t.Fatalf("the model %q answers", by)
				}
				if slices.Contains(strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == '.' }), q.Answer) {
					right++
				} else {
					wrong = append(wrong, fmt.Sprintf("%s %s, not %s", q.Question, text, q.Answer))
				}
			}
			t.Logf("%s: %d of %d are right", kind.Name, right, asked)
			if float64(right) < least*float64(asked) {
				t.Errorf("%d of %d are right: %q", right, asked, wrong)
			}
		})
	}
}

// Who names no model gets the one that sees for pictures, in every dialect, and the one that reads
// text for everything else. Who names a model gets that.
func TestBuiltInSeeing_WhichModel(t *testing.T) {
	w := must.Get(openWorld("../../tools/tinymodel/world.json"))(t)
	h := hosts.Open(t, nil)
	defer hosts.Run(t, h)()
	picture := base64.StdEncoding.EncodeToString(drawingQuestions[0].Ask(w, rand.New(rand.NewPCG(1, 1))).Drawing.PNG())
	openAI := `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + picture + `"}}]}],"max_tokens":2}`
	anthropic := `"max_tokens":2,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + picture + `"}}]}]}`
	for _, c := range []struct {
		path, body string
		by         string // empty: it is refused
	}{
		{"/v1/chat/completions", `{` + openAI, model.BuiltInVisionName},
		{"/v1/chat/completions", `{"model":"gpt-4o",` + openAI, model.BuiltInVisionName},
		{"/v1/chat/completions", `{"model":"penstock-tiny-vision",` + openAI, model.BuiltInVisionName},
		{"/v1/chat/completions", `{"model":"penstock-tiny",` + openAI, ""},
		{"/v1/chat/completions", `{` + hosts.Frog + `,"max_tokens":2}`, model.BuiltInName},
		{"/v1/chat/completions", `{"model":"gpt-4o",` + hosts.Frog + `,"max_tokens":2}`, model.BuiltInName},
		{"/v1/chat/completions", `{"model":"penstock-tiny-vision",` + hosts.Frog + `,"max_tokens":2}`, model.BuiltInVisionName},
		{"/v1/messages", `{"model":"claude",` + anthropic, model.BuiltInVisionName},
		{"/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,` + picture + `"}]}],"max_output_tokens":2}`,
			model.BuiltInVisionName},
		{"/api/chat", `{"model":"llava","stream":false,"messages":[{"role":"user","content":"?","images":["` + picture + `"]}],"options":{"num_predict":2}}`, model.BuiltInVisionName},
		{"/api/generate", `{"model":"llava","stream":false,"prompt":"?","images":["` + picture + `"],"options":{"num_predict":2}}`, model.BuiltInVisionName},
	} {
		status, body := hosts.Post(t, h.URL()+c.path, c.body)
		var answer struct{ Model string }
		_ = json.Unmarshal([]byte(body), &answer)
		if c.by == "" {
			if status != http.StatusBadRequest {
				t.Errorf("%s %.60s: %d %s", c.path, c.body, status, body)
			}
			continue
		}
		if status != http.StatusOK || answer.Model != c.by {
			t.Errorf("%s %.60s: %d, the model %q answers: %s", c.path, c.body, status, answer.Model, body)
		}
	}
}

// Both built-in models are listed by name, the one that sees before it is loaded too.
func TestBuiltInSeeing_Listed(t *testing.T) {
	h := hosts.Open(t, nil)
	defer hosts.Run(t, h)()
	var list struct {
		Data []struct {
			ID           string
			Status       struct{ Value string }
			Architecture struct {
				Input []string `json:"input_modalities"`
			}
			Meta struct {
				BuiltIn    bool `json:"built_in"`
				Vocabulary int  `json:"n_vocab"`
			}
		}
	}
	must.Do(t, json.Unmarshal([]byte(hosts.Get(t, h.URL()+"/v1/models")), &list))
	if len(list.Data) != 2 {
		t.Fatalf("%+v", list)
	}
	text, sees := list.Data[0], list.Data[1]
	if text.ID != model.BuiltInName || text.Status.Value != "loaded" || slices.Contains(text.Architecture.Input, "image") {
		t.Errorf("%+v", text)
	}
	if sees.ID != model.BuiltInVisionName || sees.Status.Value != "unloaded" || !slices.Contains(sees.Architecture.Input, "image") ||
		!sees.Meta.BuiltIn || sees.Meta.Vocabulary == 0 {
		t.Errorf("%+v", sees)
	}
}
