// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// hostileValues are what a field of a request is given: a megabyte of one thing, 5,000 of many.
var hostileValues = map[string]string{
	"a text":        `"` + strings.Repeat("word ", 200<<10) + `"`,
	"a long number": "1" + strings.Repeat("0", 1<<20),
	"a long name":   `{"` + strings.Repeat("name", 256<<10) + `":1}`,
	"numbers":       "[" + strings.Repeat("1,", 5000) + "1]",
	"texts":         `[` + strings.Repeat(`"text",`, 5000) + `"text"]`,
	"objects":       "[" + strings.Repeat(`{"type":"text","text":"a","role":"user","content":"a"},`, 5000) + "{}]",
	"names":         `{` + manyMembers(5000) + `}`,
	"names within":  `{"a":{` + manyMembers(5000) + `}}`,
	"a tool":        `[{"type":"function","function":{"name":"f","parameters":{"type":"object","$defs":{` + manyMembers(5000) + `}}}}]`,
	"a call": `[{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"f","arguments":` +
		strconv.Quote(`{`+manyMembers(5000)+`}`) + `}}]},{"role":"tool","tool_call_id":"abcdefghi","content":"a"}]`,
	"nested lists":   strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
	"nested objects": strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000),
}

func manyMembers(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"name%d":%d`, i, i)
	}
	return strings.Join(all, ",")
}

// plainBody is a body that each route takes its fields of.
var plainBody = map[string]string{
	"messages": `[{"role":"user","content":"a"}]`, "prompt": `"a"`, "input": `"a"`, "content": `"a"`, "query": `"a"`, "documents": `["a"]`, "texts": `["a"]`,
	"tokens": `[1]`, "input_prefix": `"a"`, "input_suffix": `"a"`, "max_tokens": `1`, "n_predict": `1`, "max_output_tokens": `1`, "max_completion_tokens": `1`,
}

// What a request may take: of the time that encoding/json needs for 1 MB, which is some 10 ms, and
// of memory, garbage included, besides 32 times its body.
const (
	mostUnits = 30
	mostBytes = 50 << 20
)

// Whatever one field of a request is, the request costs little beyond what it takes to read so
// much JSON, and the server goes on. Fields are those that docs/openapi.yaml describes.
func TestFields_HostileValues_CostLittle(t *testing.T) {
	h := hosts.Shared(t, map[string]any{"server.body_limit": "4MiB"}, nil)
	type attack struct{ path, field, value string }
	var attacks []attack
	fields := map[string][]string{} // by path
	doc := newDescription(t, h.URL()).doc
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		fields[path] = fieldsOf(doc.Paths.Value(path).Post)
		for _, field := range fields[path] {
			for _, value := range slices.Sorted(maps.Keys(hostileValues)) {
				attacks = append(attacks, attack{path, field, value})
			}
		}
	}
	if len(attacks) < 1000 {
		t.Fatalf("%d fields and values are described", len(attacks))
	}
	list := []byte("[" + strings.Repeat(`{"type":"text","text":"a"},`, 1<<20/27) + "{}]")
	unit := steadytest.Cost(t, func() {
		var v any
		must.Do(t, json.Unmarshal(list, &v))
	})
	for _, i := range steadytest.Rand(t).Perm(len(attacks))[:steadytest.InLongTest(len(attacks), 100)] {
		a := attacks[i]
		var body []string
		for _, field := range fields[a.path] {
			if field == a.field {
				body = append(body, fmt.Sprintf("%q:%s", field, hostileValues[a.value]))
			} else if plain, ok := plainBody[field]; ok {
				body = append(body, fmt.Sprintf("%q:%s", field, plain))
			}
		}
		text := "{" + strings.Join(body, ",") + "}"
		status, taken := 0, int64(math.MaxInt64)
		cost, little := steadytest.Within(t, mostUnits*unit, func() { // once, or again where that was over the bound
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			status, _ = hosts.Post(t, h.URL()+a.path, text)
			runtime.ReadMemStats(&after)
			taken = min(taken, int64(after.TotalAlloc-before.TotalAlloc))
		})
		if !little || taken > mostBytes+32*int64(len(text)) || status == http.StatusInternalServerError {
			t.Errorf("%s, %s is %s: %d, %.1f times what reading 1 MB takes, %d MB", a.path, a.field, a.value, status, float64(cost)/float64(unit), taken>>20)
		}
	}
	if status, answer := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"a","max_tokens":1}`); status != http.StatusOK {
		t.Errorf("afterwards: %d %s", status, answer)
	}
}

// fieldsOf are the fields of the body that an operation takes; none if that is no JSON.
func fieldsOf(op *openapi3.Operation) (names []string) {
	if op == nil || op.RequestBody == nil || op.RequestBody.Value.Content["application/json"] == nil {
		return nil
	}
	var add func(s *openapi3.SchemaRef)
	add = func(s *openapi3.SchemaRef) {
		names = slices.AppendSeq(names, maps.Keys(s.Value.Properties))
		for _, part := range s.Value.AllOf {
			add(part)
		}
	}
	add(op.RequestBody.Value.Content["application/json"].Schema)
	slices.Sort(names)
	return slices.Compact(names)
}
