// SPDX-License-Identifier: MIT

package session

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

func TestRead_Refuses(t *testing.T) {
	const head = `{"penstock_session":1,"vocabulary":{"pieces":["a","b"]},"sessions":[{"plugin":{"name":"p"},"request":{"prompt":[0]},"calls":[`
	for text, want := range map[string]string{
		"":                                    "unexpected end",
		"hello":                               "line 1: invalid character",
		"{}":                                  "penstock_session is missing",
		`{"penstock_session":2}`:              "penstock_session is 2; this version of Penstock reads 1",
		`{"penstock_session":1}`:              "vocabulary.pieces: there are none",
		head + `{"call":"open"}]}],"more":1}`: `unknown field "more"`,
		head + `{"call":"open","tokn":1}]}]}`: `sessions[0]: calls[0]: json: unknown field "tokn"`,
		head + `{"call":"jump"}]}]}`:          `sessions[0].calls[0].call: there is no "jump"`,
		head + `{"call":"open"},{"call":"sample","ids":[1],"logits":[2],"answer":-2147483648,"left":{"ids":[1],"logits":[9]}}]}]}`: "calls[1].left: nothing is told of what is left with the answer -2147483648",
		head + `{"call":"accept","token":1}]}]}`:                                                               `calls[0].call: "accept"; open, render or messages is the first`,
		head + `{"call":"open"},{"call":"accept"}]}]}`:                                                         "calls[1].token: it is missing",
		head + `{"call":"open"},{"call":"accept","token":2}]}]}`:                                               "calls[1].token: there is no token 2; the vocabulary has 2",
		head + `{"call":"open"},{"call":"stop","token":1}]}]}`:                                                 "calls[1].text: it is missing",
		head + `{"call":"open"},{"call":"rewind"}]}]}`:                                                         "calls[1].keep: it is missing",
		head + `{"call":"open"},{"call":"rewind","keep":2}]}]}`:                                                "calls[1].keep: 2; the prompt has 1 tokens, the conversation 1",
		head + `{"call":"open"},{"call":"sample","ids":[0,1],"logits":[1]}]}]}`:                                "calls[1].logits: 1 for 2 ids",
		head + `{"call":"open"},{"call":"sample","ids":[1,1],"logits":[1,1]}]}]}`:                              "calls[1].ids[1]: token 1 is there twice",
		head + `{"call":"open"},{"call":"sample","logits":[1]}]}]}`:                                            "calls[1].logits: 1 without ids",
		head + `{"call":"open"},{"call":"sample","ids":[0],"logits":["low"]}]}]}`:                              `calls[1]: [0]: "low" is no logit`,
		head + `{"call":"open"},{"call":"sample","ids":[0],"logits":[1e99]}]}]}`:                               `[0]: 1e99 is no logit`,
		head + `{"call":"open"},{"call":"accept","token":1,"prompt":"x"}]}]}`:                                  "calls[1].prompt: it belongs to [render], not to accept",
		head + `{"call":"open"},{"call":"prepare","mask":{"allow":[5]}}]}]}`:                                   "calls[1].mask.allow[0]: there is no token 5",
		head + `{"call":"open"},{"call":"prepare","mask":{"allow":[1],"ban":[0]}}]}]}`:                         "calls[1].mask: it has two of allow, ban and bits",
		head + `{"call":"open"},{"call":"prepare","mask":{"bits":"AA=="}}]}]}`:                                 "calls[1].mask.bits: 1 bytes",
		head + `{"call":"open"},{"call":"accept","token":1,"splice":{"backtrack":3}}]}]}`:                      "calls[1].splice.backtrack: 3; the answer has 1 tokens",
		head + `{"call":"open","asked":[{"import":"history"}]}]}]}`:                                            `calls[0]: asked[0]: import: "history" is not asked for`,
		head + `{"call":"render"},{"call":"prepare"}]}]}`:                                                      "calls[1].call: \"prepare\"; a session of a template has one call",
		head + `{"call":"open"},{"call":"sample","ids":[1],"logits":[1],"left":{"sha256":"00","ids":[1]}}]}]}`: "calls[1].left.logits: 0 for 1 ids",
		head + `{"call":"open"},{"call":"stop_rewind","bytes":-1}]}]}`:                                         "calls[1].count: 0, bytes: -1",
		head + `{"call":"open","refusal":"no"},{"call":"prepare"}]}]}`:                                         "calls[1].call: \"prepare\"; nothing follows a fault or a refusal",
		head + `]}]} {}`: "after top-level value",
		`{"penstock_session":1,"vocabulary":{"pieces":["a"],"attributes":{"big":[0]}}}`: "vocabulary.attributes.big: there are control",
		`{"penstock_session":1,"vocabulary":{"pieces":["a"],"special":{"eos":1}}}`:      "vocabulary.special.eos: there is no token 1",
		`{"penstock_session":1,"vocabulary":{"pieces":[7]}}`:                            "7 is no text",
		"\x1f\x8b not gzip": "gzip",
	} {
		_, err := Read(strings.NewReader(text))
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v, want %q", text, err, want)
		}
	}
}

// TestFile_Stream_ReadsBack has what is hard to write: bytes that are no UTF-8, infinities, long
// rows, all forms of masks.
func TestFile_Stream_ReadsBack(t *testing.T) {
	token, answer, keep, text := Token(1), int32(-1), 1, Text("\xff")
	row := make(Logits, readable+1)
	row[3], row[4] = float32(math.Inf(-1)), -0.1
	pieces := make([]Text, readable+1)
	pieces[0], pieces[1] = "\xe6\x97", "é"
	f := &File{Version: Version, Note: "n", Vocabulary: Vocabulary{Pieces: pieces, Attributes: map[string][]Token{"byte": {0}}}, Sessions: []Session{{
		Plugin: Plugin{Name: "p", SHA256: "00"}, Request: RequestFacts{Config: []byte(`{"a":1}`), Prompt: []Token{1}, Seed: math.MaxUint64, Place: 1},
		Calls: []Call{
			{Call: CallOpen},
			{Call: CallSample, IDs: []Token{1, 0}, Logits: Logits{1.1, -3e-39}, Answer: &answer, Left: &Left{IDs: []Token{1, 0}, Logits: Logits{float32(math.NaN()), float32(math.Inf(-1))}}},
			{Call: CallSample, Logits: row, Answer: &answer, Left: leftRow(row)},
			{Call: CallPrepare, Mask: NewMask([]uint32{5}, 32), Bias: []Bias{{1, 0.5}, {0, float32(math.Inf(-1))}}},
			{Call: CallStop, Token: &token, Text: &text},
			{Call: CallRewind, Keep: &keep, Tokens: []Token{1}},
		},
	}, {Plugin: Plugin{Name: "q"}, Calls: []Call{}}}, Recording: &Recording{ID: "rec_1", Choices: []Choice{{Text: "x", Tokens: []Chosen{{Token: 1, By: "samplers"}}}}}}
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	must.Do(t, errors.Join(f.Stream(packed), packed.Close()))
	got := must.Get(Read(&b))(t)
	if d := cmp.Diff(f, got, cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
}

func TestMask_Words_AreThoseItWasMadeOf(t *testing.T) {
	for _, n := range []int{1, 31, 32, 33, 2000} {
		for _, step := range []int{1, 2, 3, 1000} {
			words := make([]uint32, (n+31)/32)
			others := make([]uint32, len(words))
			for token := range n {
				to := words
				if token%step != 0 {
					to = others
				}
				to[token/32] |= 1 << (token % 32)
			}
			for _, w := range [][]uint32{words, others} {
				m := NewMask(w, n)
				if d := cmp.Diff(w, m.Words(n)); d != "" {
					t.Errorf("%d tokens, step %d, %+v: %s", n, step, m, d)
				}
				if err := m.check(n); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestFile_Write_LaysOutForPeople has brackets, commas and quotes in texts, empty lists and lists
// in lists.
func TestFile_Write_LaysOutForPeople(t *testing.T) {
	const want = `{
  "penstock_session": 1,
  "note": "a \"quoted\", {bracketed} <text>\\",
  "vocabulary": {"pieces": ["[", "\"", ",:"]},
  "sessions": [
    {
      "plugin": {"name": "p"},
      "request": {"config": {"a": [{"b": 1}, {}]}},
      "calls": [
        {"call": "open"},
        {"call": "prepare", "answer": 2, "bias": [[1, -0.5], [2, 3]]}
      ]
    },
    {
      "plugin": {"name": "p"},
      "request": {},
      "calls": []
    }
  ]
}
`
	f := must.Get(Read(strings.NewReader(want)))(t)
	var got bytes.Buffer
	must.Do(t, f.Write(&got))
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestRead_Damaged(t *testing.T) {
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	must.Do(t, errors.Join((&File{Vocabulary: Vocabulary{Pieces: []Text{"a"}}}).Stream(packed), packed.Close()))
	whole := b.Bytes()
	for at := 10; at < len(whole); at++ { // behind the header
		changed := bytes.Clone(whole)
		changed[at] ^= 0xff
		for _, text := range [][]byte{changed, whole[:at]} {
			if _, err := Read(bytes.NewReader(text)); !errors.Is(err, ErrFormat) {
				t.Errorf("byte %d: got %v", at, err)
			}
		}
	}
}

func TestRead_RefusesModels(t *testing.T) {
	for session, want := range map[string]string{
		`"model":[{"after":[2],"logits":[1,2]}],"calls":[]`:                                              "sessions[0].model[0].after[0]: there is no token 2; the vocabulary has 2",
		`"model":[{"after":[-2],"logits":[1,2]}],"calls":[]`:                                             "model[0].after[0]: there is no token -2",
		`"model":[{},{"says":[1]}],"calls":[]`:                                                           "model[0].probabilities, logits and says: 0 of them are given; an entry has one",
		`"model":[{"says":[1],"logits":[1,2]}],"calls":[]`:                                               "2 of them are given",
		`"model":[{"logits":[1]}],"calls":[]`:                                                            "model[0].logits: 1 numbers; give one for each of the 2 tokens",
		`"model":[{"logits":[1,"inf"]}],"calls":[]`:                                                      "string into Go struct field",
		`"model":[{"logits":[1,1e39]}],"calls":[]`:                                                       "1e39",
		`"model":[{"probabilities":[0.5,-0.1]}],"calls":[]`:                                              "model[0].probabilities[1]: -0.1; a probability is 0 or more",
		`"model":[{"probabilities":[0,0]}],"calls":[]`:                                                   "probabilities: their sum is 0",
		`"model":[{"probabilities":[1e300,0]}],"calls":[]`:                                               "probabilities: their sum is 1e+300",
		`"model":[{"says":[-1]}],"calls":[]`:                                                             "model[0].says[0]: there is no token -1",
		`"model":[{"says":[1` + strings.Repeat(",1", 1024) + `]}],"calls":[]`:                            "model[0].says: 1025 tokens; there are 1024 at most",
		`"model":[{"says":[1]}` + strings.Repeat(`,{"says":[1]}`, 4096) + `],"calls":[]`:                 "sessions[0].model: 4097 entries; it has 4096 at most",
		`"model":[],"calls":[{"call":"open"},{"call":"run","deeds":[{"do":"branch_close","args":[7]}]}]`: "calls[1].deeds: the model answers what the program does",
		`"model":[],"request":{"context_size":2,"prompt":[1,1]},"calls":[]`:                              "request.prompt: 2 tokens; a context of 2 has room for less",
		`"model":[{"says":[1` + strings.Repeat(",1", 1023) + `]}` + strings.Repeat(`,{"says":[1`+strings.Repeat(",1", 1023)+`]}`, 64) + `],"calls":[]`: "sessions[0].model: more than 65536 tokens in after and says",
		`"model":[],"calls":[{"call":"open"},{"call":"step"}]`:                   `calls[1].call: "step"; a session with a model has open, and run`,
		`"model":[],"calls":[{"call":"open"},{"call":"accept","token":1}]`:       `calls[1].call: "accept"; a session with a model has open, and run`,
		`"calls":[{"call":"open"},{"call":"run","shown":[1]}]`:                   "calls[1]: shown, logprobs, adopted and computed belong to the run of a session with a model",
		`"model":[],"calls":[{"call":"open","computed":3}]`:                      "calls[0]: shown, logprobs",
		`"templates":[{"messages":[],"tokens":[]}],"calls":[]`:                   "templates: they belong to a session with a model",
		`"model":[],"templates":[{"messages":[],"tokens":[9]}],"calls":[]`:       "templates[0].tokens[0]: there is no token 9",
		`"model":[],"request":{"choices":65},"calls":[]`:                         "request.choices: 65; with a model it is from 0 to 64",
		`"model":[],"calls":[{"call":"open"},{"call":"run","shown":[[1],"a"]}]`:  "calls[1]: json: cannot unmarshal",
		`"model":[],"calls":[{"call":"open"},{"call":"run","logprobs":["low"]}]`: `"low" is no logit`,
	} {
		_, err := Read(strings.NewReader(`{"penstock_session":1,"vocabulary":{"pieces":["a","b"]},"sessions":[{"plugin":{"name":"p"},` + session + `}]}`))
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s\ngot %v, want %q", session, err, want)
		}
	}
}

func TestRead_RefusesATable(t *testing.T) {
	_, err := Read(strings.NewReader(`{"penstock_session":1,"vocabulary":{"pieces":["a","b"]},"table":[{"logits":[1]}]}`))
	if err == nil || !strings.Contains(err.Error(), "table[0].logits: 1 numbers") {
		t.Error(err)
	}
}

// The last digits of a number that is not whole may differ.
func TestSameJSON(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"token":20000}`, `{"token":20001}`, false}, {`[0.5]`, `[0.50001]`, true}, {`[0.5]`, `[0.5001]`, false}, {`0.00003`, `0.00009`, false},
		{`0`, `1e-9`, true}, {`["a",null]`, `["a",null]`, true}, {`[1]`, `[1,2]`, false}, {`{"a":1}`, `{"b":1}`, false},
	} {
		if got := sameJSON(decodeJSON([]byte(c.a)), decodeJSON([]byte(c.b))); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// What calls take is counted once.
func TestCall_Size(t *testing.T) {
	answer := int32(0)
	if n := (&Call{Call: CallAccept, Answer: &answer}).Size(); n < 200 || n > 500 {
		t.Errorf("an accept without anything more takes %d bytes", n)
	}
}

// FuzzRead reads files. What is accepted can be written, read back and played.
func FuzzRead(f *testing.F) {
	for _, calls := range []string{
		`{"call":"render","prompt":"x"}`,
		`{"call":"open"},{"call":"prepare","answer":7,"mask":{"allow":[1]},"bias":[[0,"-inf"]],"force":[1]},{"call":"sample","ids":[1,0],"logits":[1.5,"-inf"],"answer":-1,"left":{"ids":[1],"logits":[1]}}`,
		`{"call":"open","tokens":[1]},{"call":"accept","token":1,"answer":2,"splice":{"backtrack":1,"tokens":[0]}},{"call":"rewind","keep":1},{"call":"stop","token":0,"text":{"base64":"/w=="},"answer":-1}`,
		`{"call":"open","asked":[{"import":"grammar_open","text":"x"},{"import":"grammar_mask","mask":{"bits":"AQAAAA=="}},{"import":"grammar_accept","token":1,"ok":true}]},{"call":"refuse"}`,
		`{"call":"open","deeds":[{"do":"grammar_open","args":[0,1],"text":"x","fuel":9},{"do":"grammar_mask","args":[0],"got":{"mask":{"allow":[1]}}},{"do":"state","args":[4],"answer":1,"got":{"numbers":[1]}}]},{"call":"prepare","deeds":[{"do":"branch_open","args":[0]}]}`,
		`{"call":"open"},{"call":"sample","logits":"AAAAAAAAgD8=","answer":-1,"left":{"sha256":"00","ids":[1],"logits":["nan"]}}`,
		`{"call":"open"},{"call":"run","shown":[[1],[0]],"logprobs":[[-0.5],["nan"]],"adopted":[{"tokens":[0,1],"from":1}],"computed":2}],"templates":[{"messages":[],"tokens":[1]}],"model":[{"says":[1]},{"after":[0],"logits":[1,2]},{"after":[-1,1],"probabilities":[0,1]}`,
	} {
		f.Add([]byte(`{"penstock_session":1,"vocabulary":{"pieces":["a","b"],"special":{"eos":0}},"sessions":[{"plugin":{"name":"p"},"request":{"prompt":[0]},"calls":[` + calls + `]}]}`))
	}
	g := asm.New(`{"name":"p","view":"none"}`)
	for _, name := range []string{abi.ExportPrepare, abi.ExportSample, abi.ExportAccept, abi.ExportRewind} {
		g.On(name, asm.I32(0))
	}
	wasm, code := g.Wasm(), f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		must.Do(t, file.Stream(&b))
		again := must.Get(Read(&b))(t)
		if d := cmp.Diff(file, again, cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), cmp.Comparer(func(a, b Logit) bool { return sameLogit(float32(a), float32(b)) })); d != "" {
			t.Error(d)
		}
		p := must.Get(NewPlayer(t.Context(), load.File{Content: wasm}, file, plugin.HostOptions{CacheDir: code}))(t)
		defer func() { _ = p.Close() }() // tested elsewhere
		for i := range file.Sessions {
			if d, err := p.Play(t.Context(), &file.Sessions[i]); err == nil && d != nil {
				_ = d.String()
			}
		}
	})
}
