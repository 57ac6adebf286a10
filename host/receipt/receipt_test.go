// SPDX-License-Identifier: MIT

package receipt

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

func newTestKey(t *testing.T) (*Key, Keys) {
	t.Helper()
	k := must.Get(NewKey())(t)
	return k, keysOf(t, k)
}

// keysOf are the keys as a client gets them.
func keysOf(t *testing.T, k *Key) Keys {
	t.Helper()
	text := must.Get(json.Marshal(k.Public()))(t)
	return must.Get(ParseKeys(text))(t)
}

// small is a receipt of the request "ask" and the answer "so".
func small(t *testing.T, k *Key) string {
	t.Helper()
	i := &Issuer{Signer: NewSigner(k, "test"), Model: Model{Name: "toy"}}
	s := must.Get(i.Begin(t.Context()))(t)
	s.Request = Request{Route: "POST /", SHA256: Digest([]byte("ask"))}
	s.Choices = []Choice{{Seed: 7, Tokens: 1, TokensSHA256: TokensDigest([]int32{5}), TextSHA256: Digest([]byte("so")), ContentSHA256: TextDigest("so"), FinishReason: "stop"}}
	return must.Get(i.Issue(s))(t)
}

// flipped calls f with data in which one bit is another, for each bit, or of many for some, the
// last among them.
func flipped(t *testing.T, data []byte, f func(bit int, changed []byte)) {
	t.Helper()
	bits := make([]int, 8*len(data))
	for i := range bits {
		bits[i] = i
	}
	for _, bit := range append(steadytest.Some(t, bits, 400), bits[max(0, len(bits)-16):]...) {
		changed := slices.Clone(data)
		changed[bit/8] ^= 1 << (bit % 8)
		f(bit, changed)
	}
}

func TestKeys_Read_EachBitCounts(t *testing.T) {
	k, keys := newTestKey(t)
	jws := small(t, k)
	if _, kid, err := keys.Read(jws); err != nil || kid != k.ID() {
		t.Fatal(kid, err)
	}
	flipped(t, []byte(jws), func(bit int, changed []byte) {
		if _, _, err := keys.Read(string(changed)); err == nil {
			t.Errorf("bit %d of the receipt does not count", bit)
		}
	})
	for _, longer := range []string{jws + "\n", jws + "A", jws + ".", " " + jws, strings.Replace(jws, ".", "\n.", 1), jws + "=="} {
		if _, _, err := keys.Read(longer); err == nil {
			t.Errorf("%q passes", longer)
		}
	}
}

func TestStatement_CheckRequest_EachBitCounts(t *testing.T) {
	k, keys := newTestKey(t)
	s, _ := must.Both(keys.Read(small(t, k)))(t)
	if err := s.CheckRequest([]byte("ask")); err != nil {
		t.Error(err)
	}
	flipped(t, []byte("ask"), func(bit int, changed []byte) {
		if s.CheckRequest(changed) == nil {
			t.Errorf("bit %d of the request does not count", bit)
		}
	})
}

func TestStatement_CheckAnswer(t *testing.T) {
	k, keys := newTestKey(t)
	s, _ := must.Both(keys.Read(small(t, k)))(t)
	flipped(t, []byte("so"), func(bit int, changed []byte) {
		if _, err := s.CheckAnswer(changed); err == nil {
			t.Errorf("bit %d of the answer does not count", bit)
		}
	})
	for body, good := range map[string]bool{
		"so": true,
		"":   false,
		`{"choices":[{"message":{"content":"so"}}]}`:                                                           true,
		`{"choices":[{"message":{"content":"no"}}]}`:                                                           false,
		`{"choices":[{"message":{"content":"so","reasoning_content":"because"}}]}`:                             false,
		`{"choices":[{"message":{"content":"so","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}]}`: false,
		`{"choices":[{"text":"so"}]}`:                                                                          true,
		`{"choices":[{"text":"so"},{"text":"no"}]}`:                                                            false,
		`{"choices":[{"text":"so"}],"content":"no"}`:                                                           false,
		`{"choices":[{"text":"no"}],"choices":[{"text":"so"}]}`:                                                false, // others take the first
		`{"choices":[{"text":"no"}],"Choices":[{"text":"so"}]}`:                                                false,
		`{"content":"so"}`:                          true,
		`[{"content":"so"}]`:                        true,
		`{"content":[{"type":"text","text":"so"}]}`: true,
		`{"content":[{"type":"text","text":"so"},{"type":"text","text":"!"}]}`:                                false,
		`{"output":[{"type":"message","content":[{"type":"output_text","text":"so"}]}],"text":{"format":{}}}`: true,
		`{"message":{"content":"so"}}`:      true,
		`{"response":"so"}`:                 true,
		`{"response":"so","thinking":"hm"}`: false,
		`{"text":"so"}`:                     true,
		"data: {}\n\n":                      false,
		`{"choices":[]}`:                    false,
	} {
		if _, err := s.CheckAnswer([]byte(body)); (err == nil) != good {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// However a dialect writes the arguments of a call, the call is the same.
func TestCallsDigest_OneForAllDialects(t *testing.T) {
	want := CallsDigest([]Call{{Name: "f", Arguments: `{"b": 1.0, "a":"x"}`}})
	s := &Statement{Choices: []Choice{{CallsSHA256: want}}}
	for _, body := range []string{
		`{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"f","arguments":"{\"b\": 1.0, \"a\":\"x\"}"}}]}}]}`,
		`{"content":[{"type":"tool_use","name":"f","input":{"a":"x","b":1}}]}`,
		`{"output":[{"type":"function_call","name":"f","arguments":"{\"a\":\"x\",\"b\":1}"}]}`,
		`{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"b":1,"a":"x"}}}]}}`,
	} {
		if _, err := s.CheckAnswer([]byte(body)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		if _, err := s.CheckAnswer(bytes.Replace([]byte(body), []byte("x"), []byte("y"), 1)); err == nil {
			t.Errorf("%s: another argument passes", body)
		}
	}
}

func TestKeys_Read_WithoutAnswers(t *testing.T) {
	k, keys := newTestKey(t)
	jws := must.Get(k.Sign(KindReceipt, Statement{Version: Version}))(t)
	if _, _, err := keys.Read(jws); err == nil || !strings.Contains(err.Error(), "choices is empty") {
		t.Error(err)
	}
}

func TestIn(t *testing.T) {
	for text, want := range map[string]string{
		"a.b.c": "a.b.c", "a.b.c\n": "a.b.c", "a.b.c\r\n": "a.b.c", "a.b.c\v": "a.b.c\v",
		`{"content":"\"receipt\":\"no\"","receipt":"a.b.c"}`: "a.b.c",
		`data: {"receipt":"a.b.c"}` + "\n\ndata: [DONE]\n\n": "a.b.c",
		`{"content":"no"}`: "",
	} {
		if got, err := In([]byte(text)); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func TestKeys_Open_Refuses(t *testing.T) {
	k, keys := newTestKey(t)
	_, others := newTestKey(t)
	seal := must.Get(k.Sign(KindRecording, RecordingSeal{}))(t)
	later := must.Get(k.Sign(KindReceipt, Statement{Version: 2}))(t)
	part := func(text string) string { return encoding.EncodeToString([]byte(text)) }
	for name, tc := range map[string]struct {
		keys      Keys
		jws, says string
	}{
		"another kind":         {keys, seal, `typ "penstock-recording+jws"`},
		"another key":          {others, small(t, k), "not among those given"},
		"a later version":      {keys, later, "version 2"},
		"no algorithm":         {keys, part(`{"alg":"none","kid":"`+k.ID()+`","typ":"`+KindReceipt+`"}`) + "." + part("{}") + ".", `alg "none"`},
		"an unknown extension": {keys, part(`{"alg":"EdDSA","crit":["b64"],"kid":"a","typ":"`+KindReceipt+`"}`) + "." + part("{}") + ".", "crit"},
		"a text":               {keys, "receipt", "three parts"},
		"too long":             {keys, strings.Repeat("A", largest+1), "at most"},
	} {
		if _, _, err := tc.keys.Read(tc.jws); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A key that replaces another has the receipts of both be checked.
func TestReadKey_Replaced(t *testing.T) {
	old, _ := newTestKey(t)
	fresh, _ := newTestKey(t)
	first := must.Get(fresh.PEM())(t)
	then := must.Get(old.PEM())(t)
	path := filepath.Join(t.TempDir(), "key.pem")
	must.Do(t, os.WriteFile(path, append(first, then...), 0o600))
	k, err := ReadKey(path)
	if err != nil || k.ID() != fresh.ID() {
		t.Fatal(err)
	}
	keys := keysOf(t, k)
	for _, signer := range []*Key{old, fresh} {
		if _, _, err := keys.Read(small(t, signer)); err != nil {
			t.Error(err)
		}
	}
	if k.Conceal([]byte("{}")) != fresh.Conceal([]byte("{}")) || k.Conceal([]byte("{}")) == old.Conceal([]byte("{}")) {
		t.Error("what is concealed is not bound to the key")
	}
}

func TestReadKey_Refuses(t *testing.T) {
	for name, text := range map[string]string{
		"has no private key": "nothing", "a PEM block \"CERTIFICATE\"": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE"})),
		"asn1": string(pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: []byte{1}})),
	} {
		path := filepath.Join(t.TempDir(), "key.pem")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := ReadKey(path); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDigests_Of(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	write := func(text string) {
		t.Helper()
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("weights")
	d, noted := NewDigests(), Note(RoleModel, path)
	left, leave := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	leave(gone)
	if _, err := d.Of(left, noted); !errors.Is(err, gone) {
		t.Errorf("a client that has left: %v", err)
	}
	if sum, err := d.Of(t.Context(), noted); err != nil || sum != Digest([]byte("weights")) {
		t.Error(sum, err)
	}
	write("other weights")
	if sum, err := d.Of(t.Context(), noted); err != nil || sum != Digest([]byte("weights")) {
		t.Errorf("a file that is loaded and known: %s, %v", sum, err)
	}
	if _, err := NewDigests().Of(t.Context(), noted); !errors.Is(err, ErrChanged) {
		t.Errorf("a file that has changed since: %v", err)
	}
	if _, err := d.Of(t.Context(), Note(RoleModel, path+"x")); !errors.Is(err, ErrChanged) {
		t.Errorf("no file: %v", err)
	}
}

func TestStatement_Differences_NamesWhatDiffers(t *testing.T) {
	make := func(change func(*Statement)) *Statement {
		s := &Statement{Model: Model{Files: []FileDigest{{Role: RoleModel, SHA256: "m"}}}, Plugins: []Plugin{{Name: "p", SHA256: "w", ConfigSHA256: "c"}},
			Sampling: map[string]any{"top_k": 40.0}, Prompts: []Prompt{{3, "t"}}, Choices: []Choice{{Seed: 7, Tokens: 2, TokensSHA256: "a", TextSHA256: "b", FinishReason: "stop"}}}
		change(s)
		return s
	}
	same := make(func(*Statement) {})
	own := make(func(s *Statement) { s.Plugins[0].ConfigHMAC = "h" })
	if len(same.Differences(own, false)) > 0 || len(same.Differences(own, true)) != 1 {
		t.Error("what the operator has configured is compared by another key, or not by the same")
	}
	for want, change := range map[string]func(*Statement){
		"":                             func(s *Statement) { s.ID, s.IssuedAt, s.Model.Name, s.Recording = "x", 1, "x", "x" },
		"the model's files":            func(s *Statement) { s.Model.Files[0].SHA256 = "n" },
		"the options of llama.cpp":     func(s *Statement) { s.Model.Options = []string{"x"} },
		"the plugins":                  func(s *Statement) { s.Plugins[0].ConfigSHA256 = "d" },
		"the sampling parameter top_k": func(s *Statement) { s.Sampling["top_k"] = 41.0 },
		"the sampling parameter min_p": func(s *Statement) { s.Sampling["min_p"] = 1.0 },
		"the prompts' tokens":          func(s *Statement) { s.Prompts[0].SHA256 = "u" },
		"the pictures and sounds":      func(s *Statement) { s.Request.Media = []string{"x"} },
		"the seed of answer 0":         func(s *Statement) { s.Choices[0].Seed++ },
		"the tokens of answer 0":       func(s *Statement) { s.Choices[0].TokensSHA256 = "b" },
		"the text of answer 0":         func(s *Statement) { s.Choices[0].TextSHA256 = "a" },
		"the end of answer 0":          func(s *Statement) { s.Choices[0].FinishReason = "length" },
		"the number of answers":        func(s *Statement) { s.Choices = append(s.Choices, Choice{}) },
	} {
		all := same.Differences(make(change), false)
		if want == "" && len(all) == 0 {
			continue
		}
		if len(all) != 1 || want == "" || !strings.HasPrefix(all[0], want+":") {
			t.Errorf("%s: got %q", want, all)
		}
	}
}
