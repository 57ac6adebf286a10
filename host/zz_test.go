package host
import ("testing";"os";"path/filepath";"fmt";"encoding/json";"time";"github.com/penstock/penstock/host/plugin/schematest")
func TestZZ(t *testing.T) {
	h := openWithExamples(t, "json-schema", "grammar")
	b, _ := os.ReadFile("/work/shared/cases/utf8/plugin.json")
	st, body := post(t, h.URL()+"/v1/completions", string(b))
	t.Log(st, body)
	files, _ := filepath.Glob("/work/shared/cases/schemas/*.json")
	for _, f := range files {
		raw, _ := os.ReadFile(f)
		var m map[string]json.RawMessage
		json.Unmarshal(raw, &m)
		schema := raw
		for _, k := range []string{"json_schema", "schema"} { if m[k] != nil { schema = m[k] } }
		if m["plugins"] != nil { var u []struct{ Config struct{ Schema json.RawMessage } }; json.Unmarshal(m["plugins"], &u); if len(u) > 0 { schema = u[0].Config.Schema } }
		if m["response_format"] != nil { var u struct{ JSONSchema struct{ Schema json.RawMessage } `json:"json_schema"` }; json.Unmarshal(m["response_format"], &u); schema = u.JSONSchema.Schema }
		start := time.Now()
		st, text := askForJSON(t, h, schema, 400, 1)
		took := time.Since(start)
		err := schematest.Fits(schema, text)
		t.Log(filepath.Base(f), len(schema), st, took.Round(time.Millisecond), fmt.Sprintf("%.100s | %.150v", text, err))
	}
}
