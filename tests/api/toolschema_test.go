// SPDX-License-Identifier: MIT

package api

import (
	"cmp"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// toolTemplate is a chat template that knows tools. With it the model, which does not know them,
// calls one at once where it must: the template's grammar leaves it nothing else, if it may not
// think before.
func toolTemplate(t *testing.T) map[string]any {
	t.Helper()
	source := cmp.Or(os.Getenv("LLAMA_CPP_DIR"), "../../build/llama.cpp/source-*")
	found, err := filepath.Glob(source + "/models/templates/Cohere2MoE.jinja")
	if err != nil || len(found) == 0 {
		t.Fatalf("llama.cpp's templates are not there (%v): run `make llama` first", err)
	}
	return map[string]any{"chat.template_file": found[0], "chat.reasoning_budget": "0", "model.ctx_size": "8192"}
}

// A strict tool whose schema no grammar can be made of is named as its client has numbered it,
// behind one that is left out too.
func TestHost_ToolSchema_NamesTheClientsTool(t *testing.T) {
	h := hosts.Shared(t, toolTemplate(t), nil)
	const schema = `{"type":"object","properties":{"a":{"type":"frog"}}}`
	const messages = `"max_tokens":1,"messages":[{"role":"user","content":"Hi"}],`
	for path, c := range map[string]struct{ body, field string }{
		"/v1/chat/completions": {`{` + messages + `"tools":[{"type":"web_search"},{"type":"function","function":{"name":"f","strict":true,"parameters":` + schema + `}}]}`, "tools[1].function.parameters"},
		"/v1/responses":        {`{"input":"Hi","tools":[{"type":"web_search"},{"type":"function","name":"f","strict":true,"parameters":` + schema + `}]}`, "tools[1].parameters"},
		"/v1/messages":         {`{` + messages + `"tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"f","strict":true,"input_schema":` + schema + `}]}`, "tools[1].input_schema"},
		"/api/chat":            {`{` + messages + `"tools":[{"type":"web_search"},{"type":"function","function":{"name":"f","strict":true,"parameters":` + schema + `}}]}`, "tools[1].function.parameters"},
	} {
		if status, text := hosts.Post(t, h.URL()+path, c.body); status != 400 || !strings.Contains(text, c.field) || !strings.Contains(text, "frog") {
			t.Errorf("%s: %d %s, want 400 about %s", path, status, text, c.field)
		}
	}
}

// A tool says itself whether it is strict, in every dialect that has that; one that does not is
// not. The template is not told in Anthropic's.
func TestHost_ToolSchema_Strict(t *testing.T) {
	h := hosts.Shared(t, toolTemplate(t), nil)
	const messages = `"max_tokens":1,"messages":[{"role":"user","content":"Hi"}],`
	for path, body := range map[string]string{
		"/v1/chat/completions": `{` + messages + `"tools":[{"type":"function","function":{"name":"f","strict":%,"parameters":` + uniqueLists + `}}]}`,
		"/v1/responses":        `{"input":"Hi","max_output_tokens":1,"tools":[{"type":"function","name":"f","strict":%,"parameters":` + uniqueLists + `}]}`,
		"/v1/messages":         `{` + messages + `"tools":[{"name":"f","strict":%,"input_schema":` + uniqueLists + `}]}`,
	} {
		for strict, want := range map[string]int{"null": 200, "true": 400, "false": 200} {
			body := strings.Replace(body, "%", strict, 1)
			status, header, text := hosts.Send(t, http.DefaultClient, hosts.NewRequest(t, http.MethodPost, h.URL()+path, []byte(body), "Content-Type", "application/json"))
			if status != want || (len(header["Penstock-Schema-Relaxed"]) == 1) != (want == 200) {
				t.Errorf("%s, strict %s: %d %s %q", path, strict, status, text, header)
			}
		}
	}
}
