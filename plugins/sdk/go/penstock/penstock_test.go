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

// open registers a plugin that does f when a request is opened, and opens one.
func open(t *testing.T, r plugintest.Request, f func() error) *plugintest.Session {
	t.Helper()
	penstock.Register(penstock.Manifest{Name: "test"}, f)
	return plugintest.Open(t, r)
}

func TestManifest_JSON(t *testing.T) {
	penstock.Register(penstock.Manifest{
		Name: "a", Version: "1", Summary: "quotes \" and \\ and\nlines", View: penstock.Logits, Candidates: 3, Hold: 4, ConfigSchema: `{"type":"object"}`,
	}, nil)
	s := plugintest.Open(t, plugintest.Request{})
	var got map[string]any
	if err := json.Unmarshal([]byte(s.Manifest()), &got); err != nil {
		t.Fatalf("%s: %v", s.Manifest(), err)
	}
	if got["summary"] != "quotes \" and \\ and\nlines" || got["view"] != "logits" || got["candidates"] != 3.0 || got["hold"] != 4.0 || got["config_schema"] == nil {
		t.Errorf("got %v", got)
	}
	s = open(t, plugintest.Request{}, nil)
	if s.Manifest() != `{"name":"test"}` {
		t.Errorf("what is not set must be left out: %s", s.Manifest())
	}
}

func TestRegister_Open_Refusal(t *testing.T) {
	penstock.Register(penstock.Manifest{Name: "test"}, func() error { return errors.New("not today") })
	if _, err := plugintest.TryOpen(t, plugintest.Request{}); !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), "not today") {
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
	}, func() error {
		config, err := penstock.Config()
		if config.Get("text").Text("") != long {
			t.Error("the configuration is not what it was")
		}
		if got := penstock.History(nil); !slices.Equal(got, history) {
			t.Error("the history is not what it was")
		}
		if got := penstock.Piece(1, nil); string(got) != long {
			t.Error("the piece is not what it was")
		}
		if len(penstock.Piece(2, nil)) != 0 || len(penstock.Piece(-1, nil)) != 0 {
			t.Error("a token that does not exist has a piece")
		}
		if penstock.PromptTokens() != 5000 || penstock.MaxTokens() != 3 || penstock.ContextSize() != 4 || penstock.Seed() != 1<<60 {
			t.Error("the numbers of the request are not what they were")
		}
		return err
	})
}

func TestVocabulary_Read(t *testing.T) {
	pieces := []string{"a", "", "é", "\xff", "longer"}
	open(t, plugintest.Request{
		Pieces: pieces, Attributes: map[penstock.Token]penstock.Attributes{1: penstock.Control | penstock.End}, Special: map[penstock.Special]penstock.Token{penstock.EOS: 1},
	}, func() error {
		v := penstock.ReadVocabulary()
		for i, want := range pieces {
			if got := string(v.Piece(penstock.Token(i))); got != want {
				t.Errorf("token %d is %q, want %q", i, got, want)
			}
		}
		if v.Len() != len(pieces) || penstock.VocabSize() != len(pieces) {
			t.Errorf("%d tokens, want %d", v.Len(), len(pieces))
		}
		if penstock.AttributesOf(1) != penstock.Control|penstock.End || penstock.AttributesOf(99) != 0 {
			t.Error("wrong attributes")
		}
		if penstock.SpecialToken(penstock.EOS) != 1 || penstock.SpecialToken(penstock.BOS) != penstock.NoToken {
			t.Error("wrong special tokens")
		}
		if got := penstock.Tokenize("longeraé", 0); !slices.Equal(got, []penstock.Token{4, 0, 2}) {
			t.Errorf("tokenized to %v", got)
		}
		return nil
	})
}

func TestBuffers(t *testing.T) {
	open(t, plugintest.Request{Pieces: make([]string, 70)}, func() error {
		mask, err := penstock.NewMask()
		if err != nil {
			return err
		}
		mask.AllowAll()
		mask.Ban(69)
		if mask.Allowed(69) || !mask.Allowed(68) {
			t.Error("a token could not be banned")
		}
		mask.BanAll()
		mask.Allow(33)
		if !mask.Allowed(33) || mask.Allowed(32) {
			t.Error("a token could not be allowed")
		}
		if _, err := penstock.NewMask(); !errors.Is(err, penstock.ErrBind) {
			t.Errorf("a second mask: %v", err)
		}
		bias, err := penstock.NewBias(1)
		if err != nil {
			return err
		}
		if !bias.Add(1, float32(math.Inf(-1))) || bias.Add(2, 1) {
			t.Error("a bias with room for one entry takes one")
		}
		splice, err := penstock.NewSplice(1)
		if err != nil {
			return err
		}
		if !splice.Set(3, 1) || splice.Set(3, 1, 2) {
			t.Error("a splice with room for one token takes one")
		}
		return nil
	})
}

func TestUniform_Range(t *testing.T) {
	open(t, plugintest.Request{Seed: 5}, func() error {
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
	open(t, plugintest.Request{Prompt: []penstock.Token{4, 5, 6, 7}}, func() error {
		for from, want := range map[int][]penstock.Token{0: {4, 5, 6, 7}, 3: {7}, 4: {}, 9: {}, -1: {7}, -3: {5, 6, 7}, -9: {4, 5, 6, 7}} {
			if got := penstock.HistoryFrom(from, nil); !slices.Equal(got, want) {
				t.Errorf("from %d: got %v, want %v", from, got, want)
			}
		}
		if n := penstock.HistoryLen(); n != 4 {
			t.Errorf("%d tokens, want 4", n)
		}
		return nil
	})
}

func TestFeature_KnowsImports(t *testing.T) {
	open(t, plugintest.Request{}, func() error {
		if !penstock.Feature("history") || !penstock.Feature("token_attr") || penstock.Feature("telepathy") {
			t.Error("the features are not the imports")
		}
		return nil
	})
}
