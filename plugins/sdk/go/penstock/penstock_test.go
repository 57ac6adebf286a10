// SPDX-License-Identifier: MIT

package penstock_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// probe is a plugin that does f when a request is opened.
type probe struct{}

var f func(*penstock.Request) error

func (probe) Open(r *penstock.Request) error               { return f(r) }
func (probe) Stop(penstock.Token, []byte) penstock.Verdict { return penstock.Show }
func (probe) Close()                                       { _ = penstock.Output("closed") }

// open opens a request in which a plugin does something.
func open(t *testing.T, r plugintest.Request, do func(*penstock.Request) error) *plugintest.Session {
	t.Helper()
	penstock.Register[probe](penstock.Manifest{Name: "test", ConfigSchema: `{"properties":{"text":{"default":"short"}}}`})
	f = do
	return plugintest.Open[probe](t, r)
}

func nothing(*penstock.Request) error { return nil }

func TestManifest_JSON(t *testing.T) {
	f = nothing
	penstock.Register[probe](penstock.Manifest{
		Name: "a", Version: "1", Summary: "quotes \" and \\ and\nlines", View: penstock.None, Place: penstock.First, Candidates: 4096, Hold: -10, ConfigSchema: `{"type":"object"}`,
	})
	s := plugintest.Open[probe](t, plugintest.Request{})
	var got map[string]any
	if err := json.Unmarshal([]byte(s.Manifest()), &got); err != nil {
		t.Fatalf("%s: %v", s.Manifest(), err)
	}
	if got["summary"] != "quotes \" and \\ and\nlines" || got["view"] != "none" || got["place"] != "first" || got["candidates"] != 4096.0 || got["hold"] != -10.0 || got["config_schema"] == nil {
		t.Errorf("got %v", got)
	}
	penstock.Register[probe](penstock.Manifest{Name: "test"})
	if s = plugintest.Open[probe](t, plugintest.Request{}); s.Manifest() != `{"name":"test","implements":["penstock_open","penstock_stop","penstock_close"]}` {
		t.Errorf("what is not set must be left out: %s", s.Manifest())
	}
}

func TestRegister_Open_Refusal(t *testing.T) {
	open(t, plugintest.Request{}, nothing)
	f = func(*penstock.Request) error { return errors.New("not today") }
	if _, err := plugintest.TryOpen[probe](t, plugintest.Request{}); !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), "not today") {
		t.Errorf("got %v", err)
	}
}

// TestRequest_LargerThanFirstBuffer reads what does not fit the first time.
func TestRequest_LargerThanFirstBuffer(t *testing.T) {
	long := strings.Repeat("long ", 1000)
	history := make([]penstock.Token, 5000)
	history[4999] = 7
	open(t, plugintest.Request{
		Config: `{"text":"` + long + `"}`, Pieces: []string{"a", long}, Prompt: history, MaxTokens: 3, ContextSize: 4, Seed: 1 << 60,
		Model: `{"name":"` + long + `"}`, Sampling: `{"top_k":40}`,
	}, func(r *penstock.Request) error {
		if r.Config.Get("text").Text() != long {
			t.Error("the configuration is not what it was")
		}
		if got := penstock.History(nil); !slices.Equal(got, history) {
			t.Error("the history is not what it was")
		}
		if got := penstock.Piece(1, nil); string(got) != long {
			t.Error("the piece is not what it was")
		}
		if len(penstock.Piece(2, nil)) != 0 || len(penstock.Piece(math.MaxUint32, nil)) != 0 {
			t.Error("a token that does not exist has a piece")
		}
		if r.PromptTokens != 5000 || r.MaxTokens != 3 || r.ContextSize != 4 || r.Seed != 1<<60 {
			t.Errorf("the numbers of the request are not what they were: %+v", r)
		}
		if r.Model().Get("name").Text() != long || r.Sampling().Get("top_k").Int() != 40 {
			t.Error("model or sampling parameters are not what they were")
		}
		return nil
	})
}

func TestRequest_Config_HasDefaults(t *testing.T) {
	open(t, plugintest.Request{}, func(r *penstock.Request) error {
		if got := r.Config.Get("text").Text(); got != "short" {
			t.Errorf("got %q, want the schema's default", got)
		}
		return nil
	})
}

func TestVocabulary_Read(t *testing.T) {
	pieces := []string{"a", "", "é", "\xff", "longer"}
	open(t, plugintest.Request{
		Pieces: pieces, Attributes: map[penstock.Token]penstock.Attributes{1: penstock.AttrControl | penstock.AttrEnd},
		Special: map[penstock.Special]penstock.Token{penstock.EOS: 1},
	}, func(*penstock.Request) error {
		v := penstock.ReadVocabulary()
		for i, want := range pieces {
			if got := string(v.Piece(penstock.Token(i))); got != want {
				t.Errorf("token %d is %q, want %q", i, got, want)
			}
		}
		if n := len(v.Piece(penstock.Token(len(pieces)))) + len(v.Piece(penstock.MediaToken)); n != 0 {
			t.Errorf("what is no token has %d bytes", n)
		}
		if v.Len() != len(pieces) || penstock.VocabSize() != len(pieces) {
			t.Errorf("%d tokens, want %d", v.Len(), len(pieces))
		}
		if penstock.AttributesOf(1) != penstock.AttrControl|penstock.AttrEnd || penstock.AttributesOf(99) != 0 {
			t.Error("wrong attributes")
		}
		if end, ok := penstock.SpecialToken(penstock.EOS); end != 1 || !ok {
			t.Errorf("the end token is %d, %v", end, ok)
		}
		if begin, ok := penstock.SpecialToken(penstock.BOS); ok {
			t.Errorf("there is a token %d that begins", begin)
		}
		if got := penstock.Tokenize("longeraé", 0); !slices.Equal(got, []penstock.Token{4, 0, 2}) {
			t.Errorf("tokenized to %v", got)
		}
		return nil
	})
}

func TestUniform_Range(t *testing.T) {
	open(t, plugintest.Request{Seed: 5}, func(*penstock.Request) error {
		sum := 0.0
		for range 10000 {
			x := penstock.Uniform()
			if x < 0 || x >= 1 {
				t.Fatalf("%v is not in [0, 1)", x)
			}
			sum += float64(x)
		}
		if mean := sum / 10000; math.Abs(mean-0.5) > 0.02 {
			t.Errorf("the mean is %v", mean)
		}
		return nil
	})
}

func TestHistoryFrom_CountsFromEitherEnd(t *testing.T) {
	open(t, plugintest.Request{Prompt: []penstock.Token{4, 5, 6, 7}}, func(*penstock.Request) error {
		for from, want := range map[int][]penstock.Token{0: {4, 5, 6, 7}, 3: {7}, 4: {}, 9: {}, -1: {7}, -3: {5, 6, 7}, -9: {4, 5, 6, 7}} {
			if got := penstock.HistoryFrom(from, nil); !slices.Equal(got, want) {
				t.Errorf("from %d: got %v, want %v", from, got, want)
			}
		}
		if n := penstock.HistoryLen(); n != 4 {
			t.Errorf("%d tokens, want 4", n)
		}
		if last, ok := penstock.LastToken(); last != 7 || !ok {
			t.Errorf("the last token is %d, %v", last, ok)
		}
		return nil
	})
	open(t, plugintest.Request{}, func(*penstock.Request) error {
		if last, ok := penstock.LastToken(); ok {
			t.Errorf("the last of no tokens is %d", last)
		}
		return nil
	})
}

func TestFeature_KnowsImports(t *testing.T) {
	open(t, plugintest.Request{}, func(*penstock.Request) error {
		if !penstock.Feature("history") || !penstock.Feature("sample_keep") || penstock.Feature("telepathy") {
			t.Error("the features are not the imports")
		}
		return nil
	})
}

func TestOutput_GivesJSON(t *testing.T) {
	var s *plugintest.Session
	t.Run("answer", func(t *testing.T) {
		s = open(t, plugintest.Request{}, func(*penstock.Request) error {
			if err := penstock.Output(struct{}{}); err == nil {
				t.Error("what JSON cannot be written of was taken")
			}
			return penstock.Output(map[string]any{"tokens": 3, "why": []string{"é"}})
		})
	})
	if want := []string{`{"tokens":3,"why":["é"]}`, `"closed"`}; !slices.Equal(s.Outputs, want) {
		t.Errorf("got %q, want %q", s.Outputs, want)
	}
}

// declines is a plugin that declines Sample, and what its configuration names.
type declines struct{ accepted int }

func (d *declines) Open(r *penstock.Request) error {
	calls := []penstock.Call{penstock.CallSample, penstock.CallClose}
	if other := r.Config.Get("other").Text(); other != "" {
		calls = append(calls, penstock.Call(other))
	}
	return r.Decline(calls...)
}
func (d *declines) Sample(*penstock.Candidates) penstock.Choice { panic("it was declined") }
func (d *declines) Accept(penstock.Token) penstock.Accepted {
	d.accepted++
	return penstock.Continue
}
func (d *declines) Close() { panic("it was declined") }

func TestRequest_Decline(t *testing.T) {
	penstock.Register[declines](penstock.Manifest{Name: "declines"})
	s := plugintest.Open[declines](t, plugintest.Request{Pieces: []string{"a"}})
	s.Accept(0)
	for _, other := range []string{"penstock_run", "penstock_open", "sample"} {
		if _, err := plugintest.TryOpen[declines](t, plugintest.Request{Config: `{"other":"` + other + `"}`}); !errors.Is(err, plugintest.ErrRefused) {
			t.Errorf("%s can be declined: %v", other, err)
		}
	}
	plugintest.Open[declines](t, plugintest.Request{Config: `{"other":"` + string(penstock.CallAccept) + `"}`}).Accept(0)
	for _, c := range []penstock.Call{penstock.CallRewrite, penstock.CallPrepare, penstock.CallDraft, penstock.CallStop, penstock.CallRewind} {
		plugintest.Open[declines](t, plugintest.Request{Config: `{"other":"` + string(c) + `"}`}) // what it does not implement
	}
}
