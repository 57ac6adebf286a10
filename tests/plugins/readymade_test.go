// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// textOf is the text of an answer of any of the APIs.
func textOf(t *testing.T, body string) string {
	t.Helper()
	var answer struct {
		Content string
		Choices []struct {
			Text    string
			Message struct{ Content string }
		}
	}
	must.Do(t, json.Unmarshal([]byte(body), &answer))
	for _, c := range answer.Choices {
		return c.Text + c.Message.Content
	}
	return answer.Content
}

// The fields of other servers do what the plugin's entry would, on each route that their clients
// use, and are refused by name where there is no such plugin.
func TestReadyFields_AllRoutes_SwitchThePluginOn(t *testing.T) {
	h := hosts.SharedWithExamples(t, "banned-phrases", "repetition-stop")
	without := hosts.Shared(t, nil, nil)
	for route, body := range map[string]string{
		"/v1/chat/completions": `{` + hosts.Frog + `,"max_tokens":40,"temperature":0`,
		"/v1/completions":      `{"prompt":"Once upon a time","max_tokens":40,"temperature":0`,
		"/completion":          `{"prompt":"Once upon a time","n_predict":40,"temperature":0`,
	} {
		ask := func(fields string) string {
			status, text := hosts.Post(t, h.URL()+route, body+fields+"}")
			if status != 200 {
				t.Fatalf("%s %s: %d %s", route, fields, status, text)
			}
			return textOf(t, text)
		}
		plain := ask("")
		banned := ask(`,"banned_strings":["frog"," a "],"banned_regex":["(?i)th[ei]"]`)
		entry := ask(`,"plugins":[{"name":"banned-phrases","config":{"phrases":["frog"," a "],"patterns":["(?i)th[ei]"]}}]`)
		if lower := strings.ToLower(banned); banned != entry || banned == plain || strings.Contains(lower, "frog") || strings.Contains(lower, " a ") || strings.Contains(lower, "the") {
			t.Errorf("%s says %q with the fields and %q with the plugin's entry, and without %q", route, banned, entry, plain)
		}
		if looped := ask(`,"logit_bias":{"300":100},"repetition_detection":{"max_pattern_size":4,"min_count":3}`); len(looped) > 40 {
			t.Errorf("%s goes on with a loop: %q", route, looped)
		}
		for field, value := range map[string]string{"banned_strings": `"x"`, "repetition_detection": `{"max_pattern_size":4,"min_count":3}`} {
			status, text := hosts.Post(t, without.URL()+route, body+`,"`+field+`":`+value+"}")
			if status != 400 || !strings.Contains(text, field) || !strings.Contains(text, "no such plugin") {
				t.Errorf("%s with %s and without the plugin: %d %s", route, field, status, text)
			}
		}
	}
}

// All that the built-in model quotes stands in the prompt, though it is made to open quotes all the
// time.
func TestVerbatimQuotes_BuiltInModel_QuotesThePrompt(t *testing.T) {
	h := hosts.SharedWithExamples(t, "verbatim-quotes")
	quotes := 0
	for i, question := range hosts.Questions {
		request := hosts.AskNumber(i, `,"logit_bias":{"\"":6," \"":6},"plugins":["verbatim-quotes"]`)
		text := must.Get(hosts.Whole(t, h, request))(t)
		prompt := strings.Join(strings.Fields(question), " ")
		for j, span := range strings.Split(text, `"`) {
			if j%2 == 0 {
				continue
			}
			quotes++
			if words := strings.Join(strings.Fields(span), " "); !strings.Contains(prompt+" user assistant system", words) {
				t.Errorf("answer %d, %q, quotes %q, which %q has not", i, text, span, prompt)
			}
		}
	}
	if quotes == 0 {
		t.Error("nothing was quoted")
	}
}
