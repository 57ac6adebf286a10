// SPDX-License-Identifier: MIT

package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// chooses is a script that chooses the token of its configuration, whatever the logits.
const chooses = `export const plugin = {place: "first"};
export function sample(c) { return config.token; }`

// scripted is an entry of plugins for a script.
func scripted(t *testing.T, source string, fields map[string]any) string {
	t.Helper()
	entry := map[string]any{"script": source}
	for name, value := range fields {
		entry[name] = value
	}
	text := must.Get(json.Marshal(entry))(t)
	return string(text)
}

// sendAs sends JSON as the holder of a key.
func sendAs(t *testing.T, h *host.Host, key, path, body string) (status int, header http.Header, text string) {
	t.Helper()
	return requestAs(t, h, key, http.MethodPost, path, []byte(body), "Content-Type", "application/json")
}

// requestAs sends a request as the holder of a key, with more headers.
func requestAs(t *testing.T, h *host.Host, key, method, path string, body []byte, headers ...string) (status int, header http.Header, text string) {
	t.Helper()
	client := &http.Client{}
	defer client.CloseIdleConnections()
	return hosts.Send(t, client, hosts.NewRequest(t, method, h.URL()+path, body, append(headers, "Authorization", "Bearer "+key)...))
}

const aToken = 70

// Every dialect takes scripts, in the long form too.
func TestScripts_Request_EachDialect(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, nil)
	short := `"plugins":[` + scripted(t, chooses, map[string]any{"config": map[string]any{"token": aToken}, "name": "mine"}) + `]`
	source, _ := json.Marshal(chooses) // a text always can
	long := fmt.Sprintf(`"plugins":[{"name":"script","config":{"source":%s,"config":{"token":%d}}}]`, source, aToken)
	want := strings.Repeat(hosts.Piece(t, aToken), 3)
	for _, tc := range []struct{ path, body string }{
		{"/v1/completions", `{"prompt":"Once","max_tokens":3,` + short + `}`}, {"/v1/completions", `{"prompt":"Once","max_tokens":3,` + long + `}`},
		{"/v1/chat/completions", `{` + hosts.Frog + `,"max_tokens":3,` + short + `}`},
		{"/v1/responses", `{"input":"Hello","max_output_tokens":3,` + short + `}`},
		{"/v1/messages", `{` + hosts.Frog + `,"max_tokens":3,` + short + `}`},
		{"/api/chat", `{` + hosts.Frog + `,"stream":false,"options":{"num_predict":3},` + short + `}`},
		{"/api/generate", `{"prompt":"Once","stream":false,"options":{"num_predict":3},` + short + `}`},
		{"/completion", `{"prompt":"Once","n_predict":3,` + short + `}`},
	} {
		if status, body := hosts.Post(t, h.URL()+tc.path, tc.body); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s lacks %q", tc.path, status, body, want)
		}
	}
	c := hosts.Dial(t, h)
	c.Send(`{"type":"generate","id":"a","request":{"prompt":"Once","max_tokens":3,` + short + `}}`)
	if c.Until("end"); c.Texts["a"] != want {
		t.Errorf("over the WebSocket: %q", c.Texts["a"])
	}
}

// Several scripts stand under their names in the chain, in errors and in traces, and what is said
// of one names its field.
func TestScripts_Request_Named(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, nil)
	one := scripted(t, chooses, map[string]any{"config": map[string]any{"token": aToken}, "name": "one"})
	two := scripted(t, "export function sample(c) {\n  c.nothing.at.all;\n}", map[string]any{"name": "two"})
	if status, text, err := hosts.Complete(t, h, `,"plugins":[`+one+`],"samplers":["top_k","plugin:one"]`); status != 200 || !strings.HasPrefix(text, hosts.Piece(t, aToken)) {
		t.Errorf("named in the chain: %d %q %s", status, text, err)
	}
	status, body := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"a","max_tokens":1,"plugins":[`+one+`,`+two+`],"samplers":["plugin:two","plugin:one"]}`)
	if status != 424 || !strings.Contains(body, "plugin two: penstock_sample") || !strings.Contains(body, "script.js:2:") {
		t.Errorf("a fault: %d %s", status, body)
	}
	if status, text, err := hosts.Complete(t, h, `,"plugins":[`+one+`,`+strings.TrimSuffix(two, "}")+`,"on_error":"skip"}]`); status != 200 || !strings.HasPrefix(text, hosts.Piece(t, aToken)) {
		t.Errorf("a fault that is skipped: %d %q %s", status, text, err)
	}
	if status, body := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"a","max_tokens":1,"trace":true,"plugins":[`+one+`]}`); status != 200 || !strings.Contains(body, `"plugin:one"`) {
		t.Errorf("a trace: %d %s", status, body)
	}
	for list, says := range map[string]string{
		one + `,` + one:         "plugins[1]",
		`{"script":"export {"}`: "plugins[0].script",
		strings.TrimSuffix(scripted(t, chooses, nil), "}") + `,"name":"A"}`: "plugins[0].name",
		`"script"`: "plugins[0] names plugin",
	} {
		if status, body := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"a","max_tokens":1,"plugins":[`+list+`]}`); status != 400 || !strings.Contains(body, says) {
			t.Errorf("%s: %d %s lacks %q", list, status, body, says)
		}
	}
}

// What a script says of its configuration counts for requests with it: wrong values are refused,
// and defaults are filled in.
func TestScripts_Request_OwnSchema(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, nil)
	source := fmt.Sprintf(`export const plugin = {place: "first", config: {type: "object", additionalProperties: false, properties: {token: {type: "integer", default: %d}}}};
const token = config.token.valueOf();
export function sample(c) { return token; }`, aToken)
	if status, text, err := hosts.Complete(t, h, `,"plugins":[`+scripted(t, source, nil)+`]`); status != 200 || !strings.HasPrefix(text, hosts.Piece(t, aToken)) {
		t.Errorf("%d %q %s", status, text, err)
	}
	if status, text, err := hosts.Complete(t, h, `,"plugins":[`+scripted(t, source, map[string]any{"config": map[string]any{"token": aToken + 1}})+`]`); status != 200 || !strings.HasPrefix(text, hosts.Piece(t, aToken+1)) {
		t.Errorf("%d %q %s", status, text, err)
	}
	status, body := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"a","max_tokens":1,"plugins":[`+scripted(t, source, map[string]any{"config": map[string]any{"token": "x"}})+`]}`)
	if status != 400 || !strings.Contains(body, `"plugins[0].config.token"`) || !strings.Contains(body, "script_error") {
		t.Errorf("%d %s", status, body)
	}
}

// Where the operator does not want scripts of others, his own go on.
func TestScripts_Off(t *testing.T) {
	own := strings.ReplaceAll(chooses, "config.token", fmt.Sprint(aToken))
	h := hosts.OpenWithPlugins(t, map[string]any{"plugins.scripts": "off"}, map[string][]byte{"own.js": []byte(own)})
	for path, body := range map[string]string{
		"/v1/completions":      `{"prompt":"a","plugins":[` + scripted(t, chooses, nil) + `]}`,
		"/v1/chat/completions": `{` + hosts.Frog + `,"plugins":[{"name":"script","config":{"source":"x"}}]}`,
		"/v1/scripts/check":    `{"source":"x"}`,
	} {
		if status, text := hosts.Post(t, h.URL()+path, body); status != 403 || !strings.Contains(text, "scripts_not_allowed") || !strings.Contains(text, "plugins.scripts") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if list := hosts.Get(t, h.URL()+"/v1/plugins"); strings.Contains(list, `"name":"script"`) {
		t.Error(list)
	}
	if status, text, err := hosts.Complete(t, h, `,"plugins":["own"]`); status != 200 || !strings.HasPrefix(text, hosts.Piece(t, aToken)) {
		t.Errorf("%d %q %s", status, text, err)
	}
}

// Only the keys that are listed bring scripts, where some are.
func TestScripts_Keys(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"server.api_keys": []string{"alice", "bob"}, "plugins.script_keys": []string{"bob"}}, nil)
	body := `{"prompt":"a","max_tokens":1,"plugins":[` + scripted(t, "export function accept() {}", nil) + `]}`
	for key, want := range map[string]int{"alice": 403, "bob": 200} {
		if status, _, text := sendAs(t, h, key, "/v1/completions", body); status != want {
			t.Errorf("%s: %d %s", key, status, text)
		}
	}
}

// An author who makes mistakes is not slowed down; one who sends new scripts without end is, and
// nobody else.
func TestScripts_New_AreCounted(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"server.api_keys": []string{"alice", "bob"}}, nil)
	ask := func(key string, n int) (int, http.Header, string) {
		return sendAs(t, h, key, "/v1/completions", fmt.Sprintf(`{"prompt":"a","max_tokens":1,"plugins":[{"script":"export { // %d"}]}`, n))
	}
	sent, began := 0, time.Now()
	for ; sent < 100; sent++ {
		status, header, body := ask("alice", sent)
		if status == 429 {
			if !strings.Contains(body, "too_many_scripts") || header.Get("Retry-After") == "" {
				t.Errorf("%v %s", header, body)
			}
			break
		}
		if status != 400 || !strings.Contains(body, `"line":1`) {
			t.Fatalf("script %d: %d %s", sent, status, body)
		}
	}
	if more := int(time.Since(began)/time.Second) + 1; sent < 60 || sent > 60+more {
		t.Errorf("%d were let in", sent)
	}
	if status, _, body := ask("alice", 7); status != 400 {
		t.Errorf("one that was sent before: %d %s", status, body)
	}
	if status, _, body := ask("bob", 7); status != 400 {
		t.Errorf("another client's: %d %s", status, body)
	}
}

// A script that throws in each request brings nobody into quarantine.
func TestScripts_Mistakes_NoQuarantine(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, nil)
	for i := range 20 {
		use := scripted(t, fmt.Sprintf("export function accept() { throw new Error('%d') }", i), nil)
		status, body := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"a","max_tokens":2,"ignore_eos":true,"plugins":[`+use+`]}`)
		if status != 424 || !strings.Contains(body, fmt.Sprintf("Error: %d (script.js:1:", i)) {
			t.Fatalf("%d %s", status, body)
		}
	}
}

// A file of the folder is a plugin like any other: it is listed by its name, follows its file, and
// what is wrong with it stands beside it.
func TestScripts_Folder(t *testing.T) {
	dir := t.TempDir()
	write := func(base, source string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, base), []byte(source), 0o600))
	}
	own := func(token int) string {
		return fmt.Sprintf(`export const plugin = {place: "first", summary: "chooses", config: {type: "object", properties: {token: {type: "integer", default: %d}}}};
%s`, token, strings.SplitN(chooses, "\n", 2)[1])
	}
	write("ban.js", own(aToken))
	write("broken.js", "export function sample(c) {\n  let = ;\n}")
	write("script.js", own(1))
	write("No Name.js", own(1))
	write("twice.js", own(aToken))
	must.Do(t, os.WriteFile(filepath.Join(dir, "twice.wasm"), hosts.Always("twice", 1), 0o600))
	h := hosts.Open(t, map[string]any{"plugins.dir": dir, "server.admin_key": "secret"})
	hosts.Run(t, h)
	type info struct {
		Name, State, File, Error, SHA256 string
		Manifest                         struct {
			Summary string
			Schema  json.RawMessage `json:"config_schema"`
		}
	}
	list := func() map[string]info {
		var all struct{ Data []info }
		must.Do(t, json.Unmarshal([]byte(hosts.Get(t, h.URL()+"/v1/plugins")), &all))
		byFile := map[string]info{}
		for _, i := range all.Data {
			byFile[i.File] = i
		}
		return byFile
	}
	all := list()
	sum := sha256.Sum256([]byte(own(aToken)))
	if i := all["ban.js"]; i.Name != "ban" || i.State != "ready" || i.Manifest.Summary != "chooses" || !strings.Contains(string(i.Manifest.Schema), "token") || i.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("%+v", i)
	}
	for file, says := range map[string]string{"broken.js": "script.js:2:", "script.js": "built-in", "No Name.js": "must match", "twice.wasm": "twice.js"} {
		if i := all[file]; i.State != "failed" || !strings.Contains(i.Error, says) {
			t.Errorf("%s: %+v", file, i)
		}
	}
	use := func(want int, config string) {
		t.Helper()
		if status, text, err := hosts.Complete(t, h, `,"plugins":[{"name":"ban"`+config+`}]`); status != 200 || !strings.HasPrefix(text, hosts.Piece(t, want)) {
			t.Errorf("%d %q %s", status, text, err)
		}
	}
	use(aToken, "")
	use(aToken+1, fmt.Sprintf(`,"config":{"token":%d}`, aToken+1))
	use(aToken, fmt.Sprintf(`,"sha256":"%x"`, sum))
	if status, _, err := hosts.Complete(t, h, `,"plugins":[{"name":"ban","config":{"token":"x"}}]`); status != 400 || !strings.Contains(err, "token") {
		t.Errorf("%d %s", status, err)
	}
	write("ban.js", own(aToken+2)+"\n")
	hosts.Await(t, func() bool { return list()["ban.js"].SHA256 != hex.EncodeToString(sum[:]) })
	use(aToken+2, "")
	write("ban.js", "export {")
	hosts.Await(t, func() bool { return list()["ban.js"].Error != "" })
	use(aToken+2, "")
}

// Scripts are uploaded, shown and removed by the admin.
func TestScripts_Upload(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"server.admin_key": "secret"}, map[string][]byte{"module.wasm": hosts.Always("module", 1)})
	own := strings.ReplaceAll(chooses, "config.token", fmt.Sprint(aToken))
	upload := func(query, source string) (int, string) {
		t.Helper()
		r := hosts.NewRequest(t, http.MethodPost, h.URL()+"/v1/plugins"+query, []byte(source), "Authorization", "Bearer secret", "Content-Type", "text/javascript; charset=utf-8")
		status, _, text := hosts.Send(t, http.DefaultClient, r)
		return status, text
	}
	for _, tc := range []struct {
		query, source string
		status        int
		says          string
	}{
		{"?name=ban&dry_run=true", own, 201, `"ban.js"`}, {"?name=ban", own, 201, `"ban.js"`}, {"?name=ban", own + "\n", 200, `"ban.js"`},
		{"", own, 400, "?name="}, {"?name=..%2Fa", own, 422, "must match"}, {"?name=bad", "export {", 422, "script.js:1:"},
		{"?name=module", own, 409, "module.wasm"}, {"?name=script", own, 409, "built-in"}, {"?name=large", strings.Repeat(" ", 1<<16+1), 422, "65,536"},
	} {
		if status, text := upload(tc.query, tc.source); status != tc.status || !strings.Contains(text, tc.says) {
			t.Errorf("%s: %d %s", tc.query, status, text)
		}
	}
	if status, text, err := hosts.Complete(t, h, `,"plugins":["ban"]`); status != 200 || !strings.HasPrefix(text, hosts.Piece(t, aToken)) {
		t.Errorf("%d %q %s", status, text, err)
	}
	for _, tc := range []struct {
		method, path string
		wasm         []byte
		status       int
		says         string
	}{
		{http.MethodGet, "/v1/plugins/ban/source", nil, 200, own + "\n"}, {http.MethodGet, "/v1/plugins/module/source", nil, 404, "no_script"},
		{http.MethodPost, "/v1/plugins", hosts.Always("ban", 1), 409, "ban.js"}, {http.MethodPost, "/v1/plugins", hosts.Always("script", 1), 409, "built-in"},
		{http.MethodDelete, "/v1/plugins/script", nil, 409, "built-in"}, {http.MethodPost, "/v1/plugins/script/reset", nil, 200, `"script"`},
		{http.MethodDelete, "/v1/plugins/ban", nil, 204, ""}, {http.MethodGet, "/v1/plugins/ban", nil, 404, "plugin_not_found"},
	} {
		if status, text := hosts.Admin(t, h, tc.method, tc.path, tc.wasm); status != tc.status || !strings.Contains(text, tc.says) {
			t.Errorf("%s %s: %d %s", tc.method, tc.path, status, text)
		}
	}
	if text := hosts.Get(t, h.URL()+"/v1/plugins/module/source"); !strings.Contains(text, "admin") {
		t.Errorf("without the admin key: %s", text)
	}
}

// With a lock, scripts of the folder are pinned as modules are, and requests bring none.
func TestScripts_Lock(t *testing.T) {
	own := strings.ReplaceAll(chooses, "config.token", fmt.Sprint(aToken))
	lock := fmt.Sprintf("ban@sha256:%x", sha256.Sum256([]byte(own)))
	h := hosts.OpenWithPlugins(t, map[string]any{"plugins.lock": []string{lock}}, map[string][]byte{"ban.js": []byte(own), "other.js": []byte(own + " ")})
	if status, text, err := hosts.Complete(t, h, `,"plugins":["ban"]`); status != 200 || !strings.HasPrefix(text, hosts.Piece(t, aToken)) {
		t.Errorf("%d %q %s", status, text, err)
	}
	for _, list := range []string{`["other"]`, `[` + scripted(t, chooses, nil) + `]`} {
		if status, _, err := hosts.Complete(t, h, `,"plugins":`+list); status == 200 || err == "" {
			t.Errorf("%s: %d", list, status)
		}
	}
}

// The check says what a script asks for, or the line of its mistake.
func TestScripts_Check(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, nil)
	type checked struct {
		OK         bool
		Implements []string
		View       string
		Candidates int
		Hold       int
		Place      string
		Branches   int
		Summary    string
		Error      *struct {
			Message, Param string
			Line, Column   int
		}
	}
	check := func(body map[string]any) (c checked) {
		t.Helper()
		text := must.Get(json.Marshal(body))(t)
		status, answer := hosts.Post(t, h.URL()+"/v1/scripts/check", string(text))
		if err := json.Unmarshal([]byte(answer), &c); status != 200 || err != nil {
			t.Fatalf("%s: %d %s", text, status, answer)
		}
		return c
	}
	c := check(map[string]any{"source": `export const plugin = {candidates: 7, hold: 3, summary: "x"}; export function sample(c) {} export function accept(t) {}`})
	if !c.OK || c.View != "candidates" || c.Candidates != 7 || c.Hold != 3 || c.Summary != "x" || c.Branches != 0 || strings.Join(c.Implements, " ") != "penstock_open penstock_sample penstock_accept" {
		t.Errorf("%+v", c)
	}
	if c := check(map[string]any{"source": `export const plugin = {branches: 3}; export function run(r) {}`}); !c.OK || c.Branches != 3 || c.View != "none" {
		t.Errorf("%+v", c)
	}
	for source, want := range map[string]struct {
		line int
		says string
	}{
		"export function sample(c) {\n let = ;\n}":                      {2, "SyntaxError"},
		"\n\nconfig.a.b;\nexport function sample(c) {}":                 {3, "TypeError"},
		"export function sampel(c) {}":                                  {1, "sample"},
		"export const plugin = {hold: -1};export function sample(c) {}": {1, "hold"},
	} {
		c := check(map[string]any{"source": source})
		if c.OK || c.Error == nil || c.Error.Line != want.line || !strings.Contains(c.Error.Message, want.says) || c.Error.Param != "source" {
			t.Errorf("%s: %+v %+v", source, c, c.Error)
		}
	}
	loop := check(map[string]any{"source": "export function sample(c) {}\nfor (;;);"})
	if loop.OK || loop.Error == nil || loop.Error.Line != 2 && !strings.Contains(loop.Error.Message, plugin.CauseTime.Error()) { // a busy machine's time is over before its fuel
		t.Errorf("%+v %+v", loop, loop.Error)
	}
	if status, body := hosts.Post(t, h.URL()+"/v1/scripts/check", `{"source":"x","model":"none","config":3}`); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if status, body := hosts.Post(t, h.URL()+"/v1/scripts/check", `{"config":3}`); status != 400 || !strings.Contains(body, `"source"`) {
		t.Errorf("%d %s", status, body)
	}
}

// What is in a script its client knows, and nobody else: not the log at any level, nor /slots.
func TestScripts_Source_IsNotLogged(t *testing.T) {
	var log hosts.Buffer
	c := hosts.Settings(t, map[string]any{"plugins.dir": t.TempDir(), "log.level": "debug"})
	h := must.Get(host.Open(t.Context(), host.Options{Config: c, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), Version: "test"}))(t)
	stop := hosts.Run(t, h)
	const secret = "canary"
	for _, source := range []string{
		"// canary\nexport function sample(c) {}", "canary(", "canary.x; export function sample() {}", "export function sample() { canary() }", "export function sample() { penstock.log('canary') }",
		"export const canary = 1", "throw new Error('canary')", "export const plugin = {canary: 1}", "/* canary */ for (;;);",
	} {
		for _, use := range []string{scripted(t, source, nil), scripted(t, source, map[string]any{"on_error": "skip", "config": secret}), scripted(t, source+"//2", map[string]any{"name": "one"})} {
			hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"a","max_tokens":2,"record":true,"trace":true,"plugins":[`+use+`]}`)
		}
		body, _ := json.Marshal(map[string]string{"source": source}) // texts always can
		hosts.Post(t, h.URL()+"/v1/scripts/check", string(body))
	}
	slots := hosts.Get(t, h.URL()+"/slots") + hosts.Get(t, h.URL()+"/metrics") + hosts.Get(t, h.URL()+"/v1/plugins")
	stop()
	http.DefaultClient.CloseIdleConnections()
	if n := strings.Count(log.String(), "route="); n < 30 {
		t.Errorf("the log has %d requests", n)
	}
	for what, text := range map[string]string{"log": log.String(), "routes": slots} {
		if at := strings.Index(text, secret); at >= 0 {
			t.Errorf("the %s: %.300s", what, text[max(0, at-200):])
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// A script's sample comes before the samplers of the request, if it does not say otherwise.
func TestScripts_Place_IsFirst(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, nil)
	for place, want := range map[string]string{"": "40", `place: "first"`: "40", `place: "last"`: "1"} {
		source := `export const plugin = {` + place + `}; export function sample(c) { penstock.output(c.length) }`
		status, text := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"Once","max_tokens":1,"ignore_eos":true,"samplers":["top_k"],"top_k":1,"plugins":[`+scripted(t, source, nil)+`]}`)
		if status != http.StatusOK || !strings.Contains(text, `"value":`+want+`}`) {
			t.Errorf("{%s}: %d %s lacks %s", place, status, text, want)
		}
	}
}

// Two clients with the same script have nothing in common: what it keeps is each request's own.
func TestScripts_State_IsTheRequests(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"server.api_keys": []string{"alice", "bob"}}, nil)
	source := `let n = 0; globalThis.m ??= 0; Array.prototype.seen ??= 0;
export function accept() { n++; globalThis.m++; Array.prototype.seen++; penstock.output([n, globalThis.m, [].seen]); }`
	body := `{"prompt":"a","max_tokens":2,"ignore_eos":true,"plugins":[` + scripted(t, source, nil) + `]}`
	for _, key := range []string{"alice", "bob", "alice", "bob"} {
		if status, _, text := sendAs(t, h, key, "/v1/completions", body); status != 200 || !strings.Contains(text, `"value":[2,2,2]`) || strings.Contains(text, `"value":[3`) {
			t.Errorf("%s: %d %s", key, status, text)
		}
	}
}
