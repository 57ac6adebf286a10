// SPDX-License-Identifier: MIT

package jinja

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
)

// answer is what Python's Jinja2 makes of a template, see testdata/golden.py.
type answer struct {
	Text  *string `json:"text"`
	Error string  `json:"error"`
}

func readJSON(t testing.TB, file string, into any) {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/" + file))(t)
	must.Do(t, json.Unmarshal(text, into))
}

// smallTemplates reads testdata/cases.txt as golden.py does.
func smallTemplates(t testing.TB) map[string]string {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/cases.txt"))(t)
	out := map[string]string{}
	block, each, n := "", false, 0
	for line := range strings.SplitSeq(string(text), "\n") {
		title, isTitle := strings.CutPrefix(line, "=== ")
		switch {
		case isTitle:
			block, each = strings.CutPrefix(title, "lines ")
			n = 0
		case each && line != "":
			n++
			out[block+" "+strconv.Itoa(n)] = line
		case each:
		case out[block] == "" && n == 0:
			out[block] = line
			n = 1
		default:
			out[block] += "\n" + line
		}
	}
	return out
}

// told is what a template is told, in JSON.
func told(t testing.TB, text []byte) *Dict {
	t.Helper()
	v := must.Get(FromJSON(text))(t)
	return v.(*Dict)
}

// now is golden.py's.
func now() time.Time { return time.Date(2026, 3, 5, 14, 7, 9, 123456000, time.UTC) }

func rendered(t testing.TB, source string, context *Dict) (string, error) {
	t.Helper()
	p, err := Parse(source)
	if err != nil {
		return "", err
	}
	p.Now = now
	return p.Render(t.Context(), context)
}

// Small templates of all that the language has give what they do in Python, and fail where they do
// there.
func TestRender_AsPython(t *testing.T) {
	var want map[string]answer
	readJSON(t, "cases.json", &want)
	context := must.Get(os.ReadFile("testdata/context.json"))(t)
	templates := smallTemplates(t)
	if len(templates) != len(want) {
		t.Errorf("%d templates, %d answers: run testdata/golden.py", len(templates), len(want))
	}
	for name, source := range templates {
		t.Run(name, func(t *testing.T) {
			got, err := rendered(t, source, told(t, context))
			switch w := want[name]; {
			case w.Text != nil && (err != nil || got != *w.Text):
				t.Errorf("%s\n%v\n got %q\nwant %q", source, err, got, *w.Text)
			case w.Text == nil && (err == nil || strings.Contains(err.Error(), broken)):
				t.Errorf("%s\n got %q\nwant %s", source, got, w.Error)
			case w.Text == nil && os.Getenv("WORDS") != "" && !strings.HasSuffix(err.Error(), w.Error):
				t.Logf("%s\n got %s\nwant %s", source, err, w.Error)
			}
		})
	}
}
