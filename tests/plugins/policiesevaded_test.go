// SPDX-License-Identifier: MIT

package plugins

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// evasion is a request, by its path and fields, and what refuses it; "": it is answered, and
// changes nothing.
type evasion struct{ path, fields, says string }

func evasions(t *testing.T) map[string]evasion {
	const odd = 301
	script := func(source string, more ...any) string {
		fields := map[string]any{"name": "mine"}
		for i := 0; i < len(more); i += 2 {
			fields[more[i].(string)] = more[i+1]
		}
		return `"plugins":[` + scripted(t, strings.ReplaceAll(source, "ODD", fmt.Sprint(odd)), fields) + `]`
	}
	const force, choose = `export function prepare(p) { p.force([ODD]); }`, `export const plugin = {place: "first"}; export function sample(c) { return ODD; }`
	return map[string]evasion{
		"switched off":                     {"", `"plugins":[{"name":"mask","enabled":false}]`, `plugins[0].enabled is false`},
		"another configuration":            {"", `"plugins":[{"name":"mask","config":{"a":1}}]`, `plugins[0].config is`},
		"faults skipped":                   {"", `"plugins":[{"name":"mask","on_error":"skip"}]`, `plugins[0].on_error is`},
		"another version":                  {"", `"plugins":[{"name":"mask","sha256":"` + strings.Repeat("0", 64) + `"}]`, `plugins[0].sha256`},
		"named twice":                      {"", `"plugins":["mask","mask"]`, `in the list already`},
		"a script of its name":             {"", `"plugins":[` + scripted(t, `export function sample() {}`, map[string]any{"name": "mask"}) + `]`, `plugins[0].name`},
		"no plugins":                       {"", `"plugins":[]`, ""},
		"no samplers":                      {"", `"samplers":[]`, ""},
		"placed first among samplers":      {"", `"samplers":["plugin:mask","top_k"]`, `samplers has plugin:mask`},
		"placed last among samplers":       {"", `"samplers":["top_k","plugin:mask"]`, `samplers has plugin:mask`},
		"bias":                             {"", `"logit_bias":{"301":100}`, ""},
		"bias that bans the even ones":     {"", `"logit_bias":[[258,false],[260,false],[262,false]]`, ""},
		"greedy":                           {"", `"temperature":0,"top_k":1`, ""},
		"a grammar of odd tokens":          {"", `"grammar":"root ::= \"` + strings.TrimSpace(hosts.Piece(t, 301)) + `\"+"`, ""},
		"a regular expression":             {"", `"regex":"(Q|W)+"`, ""},
		"a schema":                         {"", `"json_schema":{"type":"object","properties":{"frog":{"const":"pond"}},"required":["frog"]}`, ""},
		"forced":                           {"", script(force), `the server requires`},
		"forced after an even one":         {"", script(`export function prepare(p) { p.force([300, ODD]); }`), `the server requires`},
		"forced, and refusals skipped":     {"", script(force, "on_error", "skip"), ""},
		"chosen before":                    {"", script(choose), `the server requires`},
		"chosen, and refusals skipped":     {"", script(choose, "on_error", "skip"), ""},
		"chosen at the end":                {"", script(`export const plugin = {place: "last"}; export function sample(c) { return ODD; }`), `the server requires`},
		"revived":                          {"", script(`export const plugin = {view: "logits"}; export function sample(c) { c.logits[ODD] = 1e9; }`), `the server requires`},
		"the only candidate":               {"", script(`export const plugin = {view: "logits"}; export function sample(c) { c.logits.fill(-Infinity); c.logits[ODD] = 1; }`), `the server requires`},
		"a candidate put in":               {"", script(`export const plugin = {place: "last"}; export function sample(c) { c.ids[0] = ODD; c.logits[0] = 1e9; }`), ""},
		"a mask of the odd ones":           {"", script(`const m = penstock.mask((s, t) => t % 2 === 1); export function prepare(p) { p.mask(m); }`), `plugin mine`},
		"spliced":                          {"", script(`export const plugin = {hold: 4}; export function accept(t) { return penstock.splice(1, [ODD]); }`), `the server requires`},
		"spliced after an even one":        {"", script(`export const plugin = {hold: 4}; export function accept(t) { if (t !== 300) return penstock.splice(1, [300, ODD]); }`), `the server requires`},
		"spliced, and refusals skipped":    {"", script(`export const plugin = {hold: 4}; export function accept(t) { return penstock.splice(1, [ODD]); }`, "on_error", "skip"), ""},
		"drafted":                          {"", script(`export function draft(n) { return [ODD, ODD]; }`), ""},
		"another text shown for it":        {"", `"plugins":["veil"]`, `changes the text that is shown`},
		"a program that shows it":          {"", script(`export function run(r) { r.show([ODD]); }`), `writes the answer itself`},
		"a program that goes on":           {"", script(`export function run(r) { const b = r.prompt(); r.continue(b, 4); r.adopt(b); }`), `writes the answer itself`},
		"several answers":                  {"", `"n":3,"temperature":2`, ""},
		"several prompts":                  {"", `"prompt":["Once","There"],"temperature":2`, ""},
		"a prompt of odd tokens":           {"", `"prompt":[301,303,305]`, ""},
		"a prompt that is echoed":          {"", `"echo":true,"temperature":2`, ""},
		"guesses":                          {"", `"prompt":"a b a b a b a b a b","speculative.n_max":16`, ""},
		"another route":                    {"/completion", `"n_predict":8`, ""},
		"another route for the same":       {"/chat/completions", hosts.Frog, ""},
		"Anthropic's API":                  {"/v1/messages", hosts.Frog, ""},
		"Ollama's API, raw":                {"/api/generate", `"stream":false,"raw":true`, ""},
		"OpenAI's Responses":               {"/v1/responses", `"input":"Hello"`, ""},
		"tools that must be called":        {"/v1/chat/completions", hosts.Frog + `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"tool_choice":"auto"`, ""},
		"a beginning of the answer":        {"/v1/chat/completions", `"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"There"}],"continue_final_message":true,"add_generation_prompt":false`, ""},
		"removed by who may not":           {"DELETE /v1/plugins/mask", ``, `admin`},
		"removed by the admin":             {"DELETE /v1/plugins/mask as secret", ``, `plugin_in_use`},
		"its source read by who may not":   {"GET /v1/plugins/mask/source", ``, `admin`},
		"named as what runs scripts":       {"", `"plugins":[{"name":"script","config":{"source":"export function sample() { return 301; }"}}]`, `the server requires`},
		"a field that repeats the plugins": {"", `"plugins":[{"name":"mask","enabled":false}],"plugins":[]`, `plugins`},
	}
}

// A hostile client's ways to get a token or a prompt past a policy that the server requires. Each
// is refused, with an error that says by what, or changes nothing: what it says is "".
func TestPolicies_Evading_IsInVain(t *testing.T) {
	h := openEven(t)
	for name, tc := range evasions(t) {
		t.Run(name, func(t *testing.T) {
			path, body := tc.path, ""
			if path == "" {
				path = "/v1/completions"
			}
			if method, rest, ok := strings.Cut(path, " "); ok {
				path, key, _ := strings.Cut(rest, " as ")
				if key == "" {
					key = "mask"
				}
				if status, _, text := requestAs(t, h, key, method, path, nil); status < 400 || !strings.Contains(text, tc.says) {
					t.Errorf("%d %s", status, text)
				}
				return
			}
			body = `{"record":true,"max_tokens":8,` + tc.fields + `}`
			if !strings.Contains(tc.fields, `"prompt"`) && !strings.Contains(tc.fields, `"messages"`) && !strings.Contains(tc.fields, `"input"`) {
				body = `{"prompt":"Once upon",` + body[1:]
			}
			status, _, text := sendAs(t, h, "mask", path, body)
			if found := oddIn(t, h, "mask", text); found != nil {
				t.Errorf("token %+v", *found)
			}
			switch {
			case tc.says == "" && status != http.StatusOK && !strings.Contains(text, "unsatisfiable"):
				t.Errorf("%d %s", status, text)
			case tc.says != "" && (status < 400 || status >= 500 || !strings.Contains(text, tc.says)):
				t.Errorf("%d %s lacks %q", status, text, tc.says)
			}
		})
	}
}

// The ways of a client that steers its answer.
func TestPolicies_Evading_BySteering_IsInVain(t *testing.T) {
	h := openEven(t)
	for name, tc := range map[string]struct{ steer, says string }{
		"injected":                     {`{"type":"inject","id":"a","text":"x"}`, "the server requires"},
		"injected after an even one":   {`{"type":"inject","id":"a","text":"wx"}`, "the server requires"},
		"set aside":                    {`{"type":"set","id":"a","sampling":{"samplers":["top_k","plugin:mask"]}}`, "samplers has plugin:mask"},
		"other plugins":                {`{"type":"set","id":"a","sampling":{"plugins":[]}}`, "sampling"},
		"set aside in a fork":          {`{"type":"fork","id":"a","as":"b","sampling":{"samplers":["plugin:mask"]}}`, "samplers has plugin:mask"},
		"other plugins in a fork":      {`{"type":"fork","id":"a","as":"b","sampling":{"plugins":[]}}`, "sampling"},
		"a plugin of its own in a set": {`{"type":"set","id":"a","sampling":{"samplers":["plugin:chooser"]}}`, "samplers"},
	} {
		t.Run(name, func(t *testing.T) {
			c := as(t, h, "mask")
			c.Send(`{"type":"generate","id":"a","request":{"prompt":"Once","ignore_eos":true,"record":true}}`)
			c.Until("token")
			c.Send(`{"type":"pause","id":"a"}`)
			c.Send(tc.steer)
			if f := c.Until("error"); !strings.Contains(f.Error.Message, tc.says) {
				t.Errorf("%+v", f.Error)
			}
			c.Send(`{"type":"cancel","id":"a"}`)
			if found := oddIn(t, h, "mask", ends(c, "a")); found != nil {
				t.Errorf("token %+v", *found)
			}
		})
	}
}

const guard = `export function messages(list) { return [{role: "user", content: "Say " + config.word}]; }
export const plugin = {config: {type: "object", properties: {word: {type: "string"}}, required: ["word"]}};`

// What a required plugin has made of the messages reaches the model, whatever else is in a request.
func TestPolicies_Messages_CannotBeGoneRound(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"plugins.scripts": "on", "plugins.policy_file": attached(t, "policies: [{plugin: guard, config: {word: pond}}]")},
		map[string][]byte{"guard.js": []byte(guard)})
	tokens := func(fields string) string {
		t.Helper()
		_, text := hosts.Post(t, h.URL()+"/apply-template", `{"messages":[{"role":"user","content":"Hello"}]`+fields+`}`)
		return text
	}
	want := tokens("")
	if !strings.Contains(want, "Say pond") {
		t.Fatal(want)
	}
	if got := tokens(`,"plugins":[` + scripted(t, `export function messages(list) { return [{role: "user", content: "Mine"}]; }`, nil) + `]`); got != want {
		t.Errorf("another has rewritten them: %s", got)
	}
	for name, tc := range map[string]struct{ path, body, says string }{
		"a text":           {"/v1/completions", `{"prompt":"Mine"}`, "prompt is not made of messages"},
		"a gap":            {"/infill", `{"input_prefix":"a","input_suffix":"b"}`, "input_prefix is not made of messages"},
		"a raw prompt":     {"/api/generate", `{"prompt":"Mine","raw":true,"stream":false}`, "is not made of messages"},
		"tokens before it": {"/api/generate", `{"prompt":"Mine","context":[300,301],"stream":false}`, "context is not made of messages"},
		"a template":       {"/v1/chat/completions", `{` + hosts.Frog + `,"plugins":[` + scripted(t, `export function template(list) { return "Mine"; }`, nil) + `]}`, "writes the prompt itself"},
		"other messages":   {"/v1/chat/completions", `{` + hosts.Frog + `,"chat_template_kwargs":{"messages":[{"role":"user","content":"Mine, and Say pond"}]}}`, "chat_template_kwargs.messages cannot be given"},
		"a program":        {"/v1/chat/completions", `{` + hosts.Frog + `,"plugins":[` + scripted(t, `export function run(r) { r.show("Mine"); }`, nil) + `]}`, "writes the answer itself"},
	} {
		if status, text := hosts.Post(t, h.URL()+tc.path, tc.body); status != 400 || !strings.Contains(text, tc.says) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if _, text := hosts.Post(t, h.URL()+"/v1/chat/completions", `{`+hosts.Frog+`,"max_tokens":1,"record":true}`); strings.Contains(download(t, h, recordingID.FindStringSubmatch(text)[1]).Note, "pond") {
		t.Error("a recording has the policy's configuration")
	}
}

// Policies hold by key, route and model, defaults can be switched off, and what clients are told
// has no configuration. A file that changes counts for new requests, and for forks; a broken one
// for nothing.
func TestPolicies_File_ByKeyAndRouteAndWhenItChanges(t *testing.T) {
	says := func(token int) string {
		return fmt.Sprintf(`export const plugin = {view: "none"}; export function sample() { return config.token ?? %d; }`, token)
	}
	path := attached(t, `
policies:
- {plugin: one, keys: [alice], config: {token: 302}}
- {plugin: two, mode: default, routes: [/v1/completions]}
`)
	h := hosts.OpenWithPlugins(t, map[string]any{"plugins.policy_file": path, "server.api_key_file": keyFile(t, "alice", "bob")},
		map[string][]byte{"one.js": []byte(says(300)), "two.js": []byte(says(304))})
	ask := func(key, path, fields string) string {
		t.Helper()
		_, _, text := sendAs(t, h, key, path, `{"prompt":"Once","max_tokens":1,"n_predict":1`+fields+`}`)
		if said := regexp.MustCompile(`"(?:content|text)":"([^"]*)"`).FindStringSubmatch(text); said != nil {
			return said[1]
		}
		return text
	}
	plain := hosts.Piece(t, 300)
	for name, tc := range map[string]struct {
		key, path, fields string
		token             int
		says              bool
	}{
		"the key's, configured":                      {"alice", "/completion", "", 302, true},
		"not another key's":                          {"bob", "/completion", "", 302, false},
		"a default, by its route":                    {"bob", "/v1/completions", "", 304, true},
		"a default, not by another route":            {"bob", "/completion", "", 304, false},
		"a default that is switched off":             {"bob", "/v1/completions", `,"plugins":[{"name":"two","enabled":false}]`, 304, false},
		"a default that is configured":               {"bob", "/v1/completions", `,"plugins":[{"name":"two","config":{"token":300}}]`, 300, true},
		"both: the first that chooses, if it may":    {"alice", "/v1/completions", "", 302, true},
		"the key's, and the default is switched off": {"alice", "/v1/completions", `,"plugins":[{"name":"two","enabled":false}]`, 302, true},
	} {
		if text := ask(tc.key, tc.path, tc.fields); (text == hosts.Piece(t, tc.token)) != tc.says {
			t.Errorf("%s: %s", name, text)
		}
	}
	models := func(key string) string {
		t.Helper()
		_, _, text := requestAs(t, h, key, http.MethodGet, "/v1/models", nil)
		return text
	}
	configured := regexp.MustCompile(`\b302\b|"token"`) // a path of this test may have those digits within longer ones
	if text := models("alice"); !strings.Contains(text, `"policies":[{"plugin":"one","mode":"required","sha256":"`) || configured.MatchString(text) {
		t.Errorf("the models are %s", text)
	}
	if text := models("bob"); strings.Contains(text, `"one"`) || !strings.Contains(text, `"plugin":"two","mode":"default"`) {
		t.Errorf("the models of another key are %s", text)
	}

	c := as(t, h, "bob")
	c.Send(`{"type":"generate","id":"a","request":{"prompt":"Once","ignore_eos":true}}`)
	c.Until("token")
	c.Send(`{"type":"pause","id":"a"}`)
	change := func(text string) {
		t.Helper()
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	change("policies: [{plugin: one, config: {token: 300}}]")
	hosts.Await(t, func() bool { return ask("bob", "/completion", "") == plain })
	c.Send(`{"type":"fork","id":"a","as":"b"}`)
	if f := c.Until("error"); f.Error.Code != "policies_changed" {
		t.Errorf("a fork past what is required by now: %+v", f)
	}
	c.GoesOn("a")
	change("policies: [{plugin: nobody}]")
	for range 3 {
		if text := ask("bob", "/completion", ""); text != plain {
			t.Errorf("a broken file: %s", text)
		}
	}
}
