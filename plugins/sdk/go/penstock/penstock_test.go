// SPDX-License-Identifier: MIT

package penstock_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
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

// drawer draws from what it sees, and rowDrawer too; sum is that of the weights.
type (
	drawer    struct{ weights []float32 }
	rowDrawer struct{ weights []float32 }
)

var sum float32

func (d *drawer) Sample(c *penstock.Candidates) penstock.Choice {
	d.weights, sum = c.Softmax(d.weights)
	return penstock.Take(c.Draw(d.weights, sum))
}

func (d *rowDrawer) SampleRow(r *penstock.Row) penstock.Choice {
	d.weights, sum = r.Softmax(d.weights)
	return penstock.Take(r.Draw(d.weights, sum))
}

// drawing is a case of plugins/abi/testdata/draws.json, which says what the fields mean.
type drawing struct {
	Seed   uint64
	Prompt int
	IDs    []penstock.Token
	Logits []*float32
	Sum    string
	Tokens []penstock.Token
}

// TestDraw_IsThatOfTheRustSDK draws as the Rust SDK's tests do: the same weights and the same
// tokens.
func TestDraw_IsThatOfTheRustSDK(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../../../abi/testdata/draws.json"))
	if err != nil {
		t.Fatal(err)
	}
	var script struct{ Cases []drawing }
	if err := json.Unmarshal(text, &script); err != nil || len(script.Cases) <= 5 {
		t.Fatalf("%d cases, %v", len(script.Cases), err)
	}
	penstock.Register[drawer](penstock.Manifest{Name: "drawer"})
	penstock.Register[rowDrawer](penstock.Manifest{Name: "row-drawer"})
	for i, c := range script.Cases {
		var logits []float32
		for _, x := range c.Logits {
			if x == nil {
				inf := float32(math.Inf(-1))
				x = &inf
			}
			logits = append(logits, *x)
		}
		r := plugintest.Request{Pieces: make([]string, 1000), Prompt: make([]penstock.Token, c.Prompt), Seed: c.Seed}
		var s *plugintest.Session
		draw := func() penstock.Choice { return s.Sample(slices.Clone(c.IDs), slices.Clone(logits)) }
		if c.IDs != nil {
			s = plugintest.Open[drawer](t, r)
		} else {
			s = plugintest.Open[rowDrawer](t, r)
			draw = func() penstock.Choice { return s.SampleRow(slices.Clone(logits)) }
		}
		var drawn []penstock.Token
		for range c.Tokens {
			token, _ := draw().Token()
			drawn = append(drawn, token)
			s.Accept(0)
		}
		if bits := fmt.Sprintf("%08x", math.Float32bits(sum)); !slices.Equal(drawn, c.Tokens) || bits != c.Sum {
			t.Errorf("case %d: drew %v with the sum %s, want %v and %s", i, drawn, bits, c.Tokens, c.Sum)
		}
	}
}

// unmask puts the first message's text in the place of "[1]", and leaves out what follows a "#".
type unmask struct {
	text  string
	calls int
}

func (u *unmask) Open(r *penstock.Request) error {
	messages, err := r.Messages()
	if len(messages) > 0 {
		u.text = messages[0].Content
	}
	return err
}

func (u *unmask) Rewrite(m []penstock.Message) ([]penstock.Message, error) {
	m[0].Content = "[1]"
	return m, nil
}

func (u *unmask) Filter(text []byte, last bool) (shown []byte, keep int) {
	u.calls++
	if at := bytes.IndexByte(text, '#'); at >= 0 {
		return text[:at], 0
	}
	if at := bytes.IndexByte(text, '['); at >= 0 && !last && len(text)-at < 3 {
		return text[:at], len(text) - at
	}
	if !bytes.Contains(text, []byte("[1]")) {
		return text, 0
	}
	return bytes.ReplaceAll(text, []byte("[1]"), []byte(u.text)), 0
}

var _ = penstock.Register[unmask](penstock.Manifest{Name: "unmask"})

// What is shown may be the beginning of what was given.
func TestFilterer_Filter_LeavesOut(t *testing.T) {
	s := plugintest.Open[unmask](t, plugintest.Request{Messages: `[{"role":"user","content":"Ann"}]`})
	s.Accept(0)
	if got := s.Filter("yes#no", true); got != "yes" {
		t.Errorf("the client reads %q", got)
	}
}

func TestFilterer_Filter_PutsBack(t *testing.T) {
	s := plugintest.Open[unmask](t, plugintest.Request{Messages: `[{"role":"user","content":"Ann"}]`})
	if got, err := s.Rewrite(); err != nil || got != `[{"role":"user","content":"[1]"}]` {
		t.Errorf("the model reads %s, %v", got, err)
	}
	var got string
	for _, text := range []string{"Hi [", "1", "]!", " ["} {
		s.Accept(0)
		got += s.Filter(text, false)
	}
	if got += s.Filter("2", true); got != "Hi Ann! [2" {
		t.Errorf("the client reads %q", got)
	}
	s.Rewind(2) // "Hi [" and "1" are left
	if got := s.Filter("] and", false); got != "Ann and" {
		t.Errorf("after text was taken back: %q", got)
	}
}

// blind takes the pictures out of a conversation, and begins it with what they were.
type blind struct{}

// told is what blind was told when it was opened.
var told []penstock.Media

func (b *blind) Open(*penstock.Request) error {
	told = penstock.RequestMedia()
	return nil
}

func (b *blind) Rewrite(conversation []penstock.Message) ([]penstock.Message, error) {
	for i := range conversation {
		m := &conversation[i]
		for _, p := range m.Media() {
			m.Content = strings.ReplaceAll(m.Content, p.Marker, "["+p.Type+" "+p.Hash+"]")
		}
	}
	return conversation, nil
}

func TestMessage_Media(t *testing.T) {
	if token := penstock.MediaToken; int32(token) != abi.TokenMedia {
		t.Errorf("the reserved token is %d, not %d", token, abi.TokenMedia)
	}
	penstock.Register[blind](penstock.Manifest{Name: "blind"})
	const picture = `{"type":"image","text":"<m0>","hash":"ab","width":3,"height":2,"bytes":9,"tokens":5}`
	s := plugintest.Open[blind](t, plugintest.Request{
		Messages: `[{"role":"user","content":[{"type":"text","text":"See "},` + picture + `,{"type":"audio","text":"<m1>","hash":"cd","seconds":1.5,"tokens":7,"bytes":80}]},
			{"role":"assistant","content":"I see."}]`,
		Media: `[` + picture + `,{"type":"audio","hash":"cd","seconds":1.5,"tokens":7,"bytes":80,"at":4}]`,
	})
	got, err := s.Rewrite()
	if want := `[{"role":"user","content":"See [image ab][audio cd]"},{"role":"assistant","content":"I see."}]`; err != nil || got != want {
		t.Errorf("%v: got %s, want %s", err, got, want)
	}
	want := []penstock.Media{{Type: penstock.Image, Marker: "<m0>", Hash: "ab", Width: 3, Height: 2, Bytes: 9, Tokens: 5, At: -1},
		{Type: penstock.Audio, Hash: "cd", Seconds: 1.5, Bytes: 80, Tokens: 7, At: 4}}
	if !slices.Equal(told, want) {
		t.Errorf("got %+v, want %+v", told, want)
	}
}

// plain puts each message on a line.
type plain struct{}

func (plain) Render(conversation []penstock.Message) (text string, err error) {
	for _, m := range conversation {
		if m.Role == "robot" {
			return "", errors.New("no robots")
		}
		text += m.Role + ": " + m.Content + "\n"
	}
	return text, nil
}

func TestRenderer_Messages(t *testing.T) {
	penstock.Register[plain](penstock.Manifest{Name: "plain"})
	for messages, want := range map[string]string{
		`[]`: "",
		`[{"role":"system","content":"S"},{"role":"user","content":"é\n"}]`:                                        "system: S\nuser: é\n\n",
		`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}]}]`: "user: ab\n",
		`[{"role":"assistant","content":null}]`:                                                                    "assistant: \n",
		`[{"content":"a"}]`:                                                                                        "refused",
		`{}`:                                                                                                       "refused",
		``:                                                                                                         "refused",
		`[{"role":"robot"}]`:                                                                                       "refused",
	} {
		got, err := plugintest.Open[plain](t, plugintest.Request{Messages: messages}).Render()
		if errors.Is(err, plugintest.ErrRefused) {
			got = "refused"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", messages, got, want)
		}
	}
}
