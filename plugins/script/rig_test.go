// SPDX-License-Identifier: MIT

package script

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

var codeCache string

func TestMain(m *testing.M) {
	spawn.Run(compile.Child())
	dir, err := os.MkdirTemp("", "penstock-test-")
	if err != nil {
		panic(err)
	}
	codeCache = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// words is the vocabulary of the tests: bytes, words of stories, an end token.
var words = drive.NewWords(0)

// options are a host's with time for machines under load and room for the module.
func options(v plugin.Vocabulary) plugin.HostOptions {
	o := plugin.HostOptions{CacheDir: codeCache, ModelOptions: plugin.ModelOptions{Vocabulary: v, Model: plugin.Model{Name: "tiny", EmbeddingSize: 4}}, Limits: plugin.DefaultLimits()}
	o.Limits.Compile, o.Limits.HookTime, o.Limits.SetupTime, o.Limits.LoadTime = time.Hour, time.Hour, time.Hour, time.Hour
	o.Limits.PlanTime = time.Hour
	o.Limits.PlanFuel, o.Limits.SetupFuel = 100_000_000, 100_000_000
	o.Limits.Stack = 7 << 20 // less than there is: an error of JavaScript comes before the host's bound
	return o
}

// the is the plugin with the vocabulary words, loaded once for all tests.
var the = sync.OnceValues(func() (*load.Plugin, error) {
	return load.New(options(words)).LoadEmbedded(context.Background(), Module())
})

func loaded(t testing.TB) *load.Plugin {
	t.Helper()
	return must.Get(the())(t)
}

func configOf(t testing.TB, source string, config any) []byte {
	t.Helper()
	c := map[string]any{"source": source}
	if config != nil {
		c["config"] = config
	}
	return must.Get(json.Marshal(c))(t)
}

// plan is the plugin as a script's plan has it, or the error that a client gets.
func plan(t testing.TB, source string, config any) (*load.Plugin, []byte, error) {
	t.Helper()
	c := must.Get(loaded(t).CheckConfig(configOf(t, source, config)))(t)
	p, err := loaded(t).With(t.Context(), "", c)
	if err == nil {
		t.Cleanup(p.Release)
	}
	return p, c, err
}

// request is one with a script.
func request(config []byte) plugin.RequestInfo {
	return plugin.RequestInfo{Config: config, Seed: 7, MaxTokens: 100, ContextSize: 1000, Time: time.UnixMilli(1_700_000_000_000)}
}

// opened is a script at work after the prompt, or the error of its plan or of opening it.
func opened(t testing.TB, source string, config any, prompt ...scheduler.Token) (*stage.Stage, error) {
	t.Helper()
	p, c, err := plan(t, source, config)
	if err != nil {
		return nil, err
	}
	return begin(t, p, request(c), prompt...)
}

// begin puts a plan to work.
func begin(t testing.TB, p *load.Plugin, r plugin.RequestInfo, prompt ...scheduler.Token) (*stage.Stage, error) {
	t.Helper()
	s, err := stage.New(p, r)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = s.Close() })
	if len(prompt) == 0 {
		prompt = []scheduler.Token{1}
	}
	return s, s.Reset(prompt, len(prompt))
}

func mustBegin(t testing.TB, p *load.Plugin, r plugin.RequestInfo) *stage.Stage {
	t.Helper()
	s, err := begin(t, p, r)
	if err != nil {
		t.Fatal(said(err))
	}
	return s
}

func mustOpen(t testing.TB, source string, config any, prompt ...scheduler.Token) *stage.Stage {
	t.Helper()
	s, err := opened(t, source, config, prompt...)
	if err != nil {
		t.Fatal(said(err))
	}
	return s
}

// said is all that a client is told of an error.
func said(err error) string {
	if err == nil {
		return ""
	}
	return plugin.Told(err)
}

// token is the one of a text.
func token(t testing.TB, text string) scheduler.Token {
	t.Helper()
	list, err := words.Tokenize(text, false, false)
	if err != nil || len(list) != 1 {
		t.Fatalf("%q is no token: %v", text, list)
	}
	return list[0]
}

// rowOf is a row of logits with some tokens above the others, the first highest.
func rowOf(t testing.TB, likely ...string) []float32 {
	row := make([]float32, words.Size())
	for i := range row {
		row[i] = -float32(i) / 1000
	}
	for i, text := range likely {
		row[token(t, text)] = float32(20 - i)
	}
	return row
}

func view(row []float32) *chain.View {
	return &chain.View{Row: append([]float32(nil), row...), N: -1, Chosen: -1}
}

// every calls all hooks of a script until one fails.
func every(t testing.TB, source string) error {
	t.Helper()
	s, err := opened(t, source, nil)
	if err != nil {
		return err
	}
	if _, err := s.Prepare(); err != nil {
		return err
	}
	v := view(rowOf(t, " the", " frog", " cat"))
	if err := s.Apply(v); err != nil {
		return err
	}
	tok := token(t, " frog")
	e, err := s.Accept(tok)
	for _, tok := range e.Tokens {
		if err == nil {
			_, err = s.Accept(tok)
		}
	}
	if err != nil {
		return err
	}
	if r := s.Rule(); r != nil {
		if _, err := r.Check(tok, " frog"); err != nil {
			return err
		}
	}
	if f := s.Filter(); f != nil {
		if _, err := f.Filter(" frog", false); err != nil {
			return err
		}
		if _, err := f.Filter("", true); err != nil {
			return err
		}
	}
	return nil
}
