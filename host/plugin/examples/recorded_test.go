// SPDX-License-Identifier: MIT

package examples

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/tools/must"
)

// sources is where the examples are.
var sources = filepath.Join("..", "..", "..", "plugins", "examples")

// caseless are the examples without cases, and why that is so.
var caseless = map[string]string{
	"prompt-lookup": "sessions have no drafts; a test here asks for one",
	"grammar":       "the host's grammars decide; tests/plugins has it on the built-in model",
	"json-schema":   "this package's tests of schemas have it",
}

// alsoGo are the examples that Go's own compiler built too.
var alsoGo = []string{"min-p"}

// TestGoldenCases_ComeOutAsTheySay makes the calls of each example's golden cases, on the modules
// that were built of it: in Go with TinyGo, and of some with Go's own compiler. The caseless are
// loaded.
func TestGoldenCases_ComeOutAsTheySay(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(sources, "*", "README.md"))
	if err != nil || len(folders) < 25 {
		t.Fatalf("there are %d examples; %v", len(folders), err)
	}
	for _, readme := range folders {
		name := filepath.Base(filepath.Dir(readme))
		files, err := filepath.Glob(filepath.Join(filepath.Dir(readme), "cases", "*.json"))
		if err != nil || (len(files) == 0) != (caseless[name] != "") {
			t.Errorf("%s has %d cases, %q, %v", name, len(files), caseless[name], err)
		}
		modules := []string{name}
		if slices.Contains(alsoGo, name) {
			modules = append(modules, "stdgo/"+name)
		}
		for _, module := range modules {
			t.Run(module, func(t *testing.T) {
				if len(files) == 0 {
					loaded(t, module, newWords())
				}
				for _, file := range files {
					f := readSessions(t, file)
					if err := whole(name, f); err != nil {
						t.Errorf("%s: %v", filepath.Base(file), err)
					}
					play(t, newPlayer(t, module, f), f)
				}
			})
		}
	}
}

func readSessions(t *testing.T, file string) *session.File {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	f, err := session.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(file), err)
	}
	return f
}

func newPlayer(t *testing.T, name string, f *session.File) *session.Player {
	t.Helper()
	p := must.Get(session.NewPlayer(t.Context(), load.File{Content: read(t, name)}, f, plugin.HostOptions{CacheDir: codeCache}))(t)
	must.Close(t, p)
	return p
}

// whole finds a session that is of another plugin, or would come out whatever the plugin did.
func whole(name string, f *session.File) error {
	if len(f.Sessions) == 0 {
		return errors.New("there are no sessions")
	}
	for _, s := range f.Sessions {
		switch {
		case s.Plugin.Name != name:
			return fmt.Errorf("%s: it is of the plugin %q, not of %s", s.Name, s.Plugin.Name, name)
		case !slices.ContainsFunc(s.Calls, says):
			return fmt.Errorf("%s: no call says what comes of it", s.Name)
		}
	}
	return nil
}

// says reports whether a call says what comes of it.
func says(c session.Call) bool {
	return c.Answer != nil || c.Mask != nil || c.Bias != nil || c.Force != nil || c.Left != nil || c.Splice != nil || c.Prompt != nil ||
		c.Messages != nil || c.Filtered != nil || c.Outputs != nil || c.Refusal != nil || c.Declined != nil || c.Fault != nil || c.Deeds != nil || c.Written != nil
}

// play makes the calls of a file's sessions.
func play(t *testing.T, p *session.Player, f *session.File) {
	t.Helper()
	for i := range f.Sessions {
		s := &f.Sessions[i]
		if d, err := p.Play(t.Context(), s); err != nil || d != nil {
			t.Errorf("%s: %v %v", s.Name, d, err)
		}
	}
}

// TestGoldenCases_FindAChange plays sessions of one configuration with another.
func TestGoldenCases_FindAChange(t *testing.T) {
	text := `{"penstock_session":1,"vocabulary":{"pieces":["a","b","c"]},"sessions":[{"plugin":{"name":"min-p"},"request":{"config":{"min_p":0.5}},
		"calls":[{"call":"open"},{"call":"sample","ids":[0,1,2],"logits":[3,2.5,2],"answer":-3}]}]}`
	f := must.Get(session.Read(bytes.NewReader([]byte(text))))(t)
	for _, name := range []string{"min-p", "stdgo/min-p"} {
		p := newPlayer(t, name, f)
		for config, differs := range map[string]bool{`{"min_p":0.5}`: false, `{"min_p":0.3}`: true, `{}`: true} {
			f.Sessions[0].Request.Config = json.RawMessage(config)
			if d, err := p.Play(t.Context(), &f.Sessions[0]); err != nil || (d != nil) != differs {
				t.Errorf("%s with %s: %v, %v", name, config, d, err)
			}
		}
	}
}

// TestGoldenCases_Whole_FindsWhatComparesNothing has files whose sessions would pass for nothing.
func TestGoldenCases_Whole_FindsWhatComparesNothing(t *testing.T) {
	for text, want := range map[string]string{
		``: "there are no sessions",
		`{"plugin":{"name":"min-p"},"request":{},"calls":[{"call":"open","refusal":"no"}]}`:                                     "",
		`{"plugin":{"name":"min-p"},"request":{},"calls":[{"call":"open"},{"call":"sample","ids":[0],"logits":[3]}]}`:           "no call says",
		`{"plugin":{"name":"min-p"},"request":{},"calls":[]}`:                                                                   "no call says",
		`{"plugin":{"name":"beam"},"request":{},"calls":[{"call":"open"},{"call":"accept","token":0,"answer":0}]}`:              `of the plugin "beam"`,
		`{"plugin":{"name":"min-p"},"request":{},"calls":[{"call":"open"},{"call":"sample","ids":[0],"logits":[3],"left":{}}]}`: "",
	} {
		f := &session.File{}
		must.Do(t, json.Unmarshal([]byte(`{"sessions":[`+text+`]}`), f))
		if got := fmt.Sprint(whole("min-p", f)); !strings.Contains(got, cmp.Or(want, "<nil>")) {
			t.Errorf("%s: %s, want %q", text, got, want)
		}
	}
}

// Every example says what it does, and what each field of its configuration means: the page makes
// its card and its form of that.
func TestManifests_AllExamples_Describe(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(sources, "*", "README.md"))
	if err != nil || len(folders) < 25 {
		t.Fatalf("there are %d examples; %v", len(folders), err)
	}
	for _, readme := range folders {
		name := filepath.Base(filepath.Dir(readme))
		m := loaded(t, name, newWords()).Manifest
		var schema struct {
			Type       string
			Properties map[string]struct{ Title, Description string }
		}
		if len(m.ConfigSchema) > 0 {
			if err := json.Unmarshal(m.ConfigSchema, &schema); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if m.Name != name || m.Summary == "" || m.Version == "" || schema.Type != "object" {
			t.Errorf("%s: name %q, version %q, summary %q, and a configuration of type %q", name, m.Name, m.Version, m.Summary, schema.Type)
		}
		for field, of := range schema.Properties {
			if of.Title == "" && of.Description == "" {
				t.Errorf("%s: config.%s has neither a title nor a description", name, field)
			}
		}
	}
}
