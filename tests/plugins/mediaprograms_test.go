// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
)

// branching is a program in the making, which may have four branches.
type branching struct{ *asm.Guest }

func newBranching(name string) branching {
	return branching{asm.New(`{"name":"` + name + `","branches":4,"optional":["penstock_run"]}`)}
}

const (
	atBranches = 8192 // a list of one
	atSaid     = 8200 // a token
	atBest     = 8208 // a candidate
	branchedAt = 0    // a local: the branch that goes on
	otherAt    = 1    // a local: another branch
)

// call is code that calls a function with numbers.
func (p branching) call(name string, args ...int) (code []byte) {
	for _, a := range args {
		code = append(code, asm.I32(a)...)
	}
	return append(code, p.Call(name)...)
}

// of is code that calls a function of the branch that goes on.
func (p branching) of(name string, args ...int) []byte {
	return slices.Concat(asm.Local(branchedAt), p.call(name, args...))
}

// opens is code that opens the branch with the prompt; with messages where there are any.
func (p branching) opens(messages string) []byte {
	if messages == "" {
		return slices.Concat(p.call(abi.ImportBranchOpen, 0, 0), asm.SetLocal(branchedAt))
	}
	p.Put(atText, messages)
	return slices.Concat(p.call(abi.ImportBranchOpenMessages, atText, len(messages)), asm.SetLocal(branchedAt))
}

// greedy is code that shows what the model says after the branch, so many tokens of it.
func (p branching) greedy(tokens int) []byte {
	const count = 2
	return asm.Each(count, asm.I32(tokens), asm.I32(atBranches), asm.Local(branchedAt), asm.Store,
		p.call(abi.ImportBranchesWait, atBranches, 1, 1, 0), asm.Drop, p.of(abi.ImportBranchCandidates, 1, atBest), asm.Drop,
		asm.I32(atSaid), asm.I32(atBest+8), asm.Load, asm.Store, p.call(abi.ImportShow, 0, atSaid, 0, 1), asm.Drop,
		p.of(abi.ImportBranchAppend, atSaid, 1, 0), asm.Drop)
}

// runs is the program of some code, which shows an answer of twelve tokens then.
func (p branching) runs(code ...[]byte) []byte {
	return p.On(abi.ExportRun, slices.Concat(code...), p.greedy(12), asm.I32(0)).Wasm()
}

// completes is what the model says after texts and files.
func (s seeing) completes(parts ...any) string {
	s.Helper()
	var prompt string
	files := []string{}
	for _, p := range parts {
		if file, ok := p.([]byte); ok {
			prompt, files = prompt+media.Marker, append(files, base64.StdEncoding.EncodeToString(file))
			continue
		}
		prompt += p.(string)
	}
	body, err := json.Marshal(map[string]any{"prompt": map[string]any{"prompt_string": prompt, "multimodal_data": files}, "n_predict": 12, "temperature": 0})
	if err != nil {
		s.Fatal(err)
	}
	status, text := hosts.Post(s.T, s.h.URL()+"/completion", string(body))
	var a struct{ Content string }
	if err := json.Unmarshal([]byte(text), &a); err != nil || status != http.StatusOK {
		s.Fatalf("%d, %v: %s", status, err, text)
	}
	return a.Content
}

// uploads puts a plugin into the host.
func (s seeing) uploads(wasm []byte) {
	s.Helper()
	if status, body := hosts.Admin(s.T, s.h, http.MethodPost, "/v1/plugins", wasm); status != http.StatusOK && status != http.StatusCreated {
		s.Fatalf("%d %s", status, body)
	}
}

// Programs open branches with pictures: with the prompt, with messages that name them by their
// hashes, with beginnings of these, and forks of them.
func TestPluginMedia_Programs(t *testing.T) {
	one, other := hosts.StripedPNG(t, 1), hosts.StripedPNG(t, 2)
	part := func(file []byte) string { return `{"type":"image","hash":"` + hashOf(file) + `"}` }
	const start, look = "<|im_start|>user\n", "Look: "
	before := len(start) - len("<|im_start|>") + 1 + len(look)
	eachSeeing(t, nil, func(s seeing) {
		talk := []map[string]any{turn("user", look, one, "beside ", other, "what?")}
		plain := s.ask("", talk...)
		tokens := plain.Usage.Details.Image / 2
		messages := `[{"role":"user","content":[` + part(other) + `,{"type":"text","text":"Now: "},` + part(one) + `,` + part(other) + `]}]`
		asked := s.ask("", turn("user", other, "Now: ", one, other)).text()
		for name, c := range map[string]struct {
			want string
			code func(p branching) []byte
		}{
			"prompt":   {plain.text(), func(p branching) []byte { return p.opens("") }},
			"messages": {asked, func(p branching) []byte { return p.opens(messages) }},
			"fork": {asked, func(p branching) []byte {
				return slices.Concat(p.opens(messages), asm.Local(branchedAt), asm.SetLocal(otherAt), p.of(abi.ImportBranchFork), asm.SetLocal(branchedAt),
					asm.Local(otherAt), p.Call(abi.ImportBranchClose), asm.Drop)
			}},
			"cut": {s.completes(start + look), func(p branching) []byte {
				return slices.Concat(p.opens(""), p.of(abi.ImportBranchCut, before), asm.Drop)
			}},
			"cut after the first": {s.completes(start+look, one, "beside "), func(p branching) []byte {
				return slices.Concat(p.opens(""), p.of(abi.ImportBranchCut, before+tokens+len("beside ")), asm.Drop)
			}},
		} {
			p := newBranching("program")
			s.uploads(p.runs(c.code(p)))
			for range 2 { // the second time all is in the cache
				if a := s.ask(`,"plugins":["program"]`, talk...); a.text() != c.want {
					s.Errorf("%s: %q, not %q", name, a.text(), c.want)
				}
			}
		}
	})
}

// whose is code that ends the request with the reason why the last call was refused.
func (p branching) whose() []byte {
	return slices.Concat(asm.I32(atText), asm.I32(atText), asm.I32(textRoom), p.Call(abi.ImportBranchReason), p.Call(abi.ImportFail), asm.I32(1), asm.Return)
}

// What a program may not do with pictures is its fault or refused, whatever it names them by, and
// the host goes on.
func TestPluginMedia_Programs_Refused(t *testing.T) {
	one := hosts.StripedPNG(t, 1)
	talk := []map[string]any{turn("user", "Look: ", one, "what?")}
	const before = 12 // tokens: <|im_start|>, the rest of its line, and "Look: "
	s := openSeeing(t, "mlp", nil)
	plain := s.ask("", talk...)
	tokens := plain.Usage.Details.Image
	appends := func(token int) func(p branching) []byte {
		return func(p branching) []byte {
			return slices.Concat(asm.Poke(atSaid, token), p.of(abi.ImportBranchAppend, atSaid, 1, 0), asm.Drop)
		}
	}
	refusedMessages := func(messages string) func(p branching) []byte {
		return func(p branching) []byte {
			return slices.Concat(p.opens(messages), asm.Local(branchedAt), asm.I32(abi.BranchRefused), asm.Equal, asm.When(p.whose()))
		}
	}
	for name, c := range map[string]struct {
		says string
		code func(p branching) []byte
	}{
		"a cut within it":    {"within a picture or a sound that begins after 12", func(p branching) []byte { return append(p.of(abi.ImportBranchCut, before+1), asm.Drop...) }},
		"nothing after it":   {"nothing can be said after one", func(p branching) []byte { return append(p.of(abi.ImportBranchCut, before+tokens), asm.Drop...) }},
		"the reserved token": {"token 4294967295 is not in the vocabulary", appends(abi.TokenMedia)},
		"a row by a number":  {"token 2147483648 is not in the vocabulary", appends(math.MinInt32)},
		"the tokens as they are shown": {"token 4294967295 is not in the vocabulary", func(p branching) []byte {
			return slices.Concat(asm.I32(atTokens), p.of(abi.ImportBranchTokens, 0, atTokens, 1000), p.Call(abi.ImportBranchOpen), asm.Drop)
		}},
		"shown": {"token 4294967295", func(p branching) []byte {
			return slices.Concat(asm.Poke(atSaid, abi.TokenMedia), p.call(abi.ImportShow, 0, atSaid, 0, 1), asm.Drop)
		}},
		"another hash":    {"the request has no part of type image with this hash", refusedMessages(`[{"role":"user","content":[{"type":"image","hash":"00"}]}]`)},
		"another picture": {"a picture or a sound that a plugin cannot add", refusedMessages(`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,"}}]}]`)},
		"a forged marker": {"the server's marker", refusedMessages(`[{"role":"user","content":"` + media.Marker + `"}]`)},
	} {
		p := newBranching("program")
		code := c.code(p)
		s.uploads(p.runs(p.opens(""), code))
		s.refused(`"program"`, c.says, talk...)
		if a := s.ask("", talk...); a.text() != plain.text() {
			t.Errorf("after %s: %q, not %q", name, a.text(), plain.text())
		}
	}
}

// What is told of a program's branches has pictures as one number, and no text.
func TestPluginMedia_Programs_Trace(t *testing.T) {
	one := hosts.StripedPNG(t, 1)
	eachSeeing(t, nil, func(s seeing) {
		p := newBranching("program")
		s.uploads(p.runs(p.opens(`[{"role":"user","content":[{"type":"text","text":"Now: "},{"type":"image","hash":"` + hashOf(one) + `"}]}]`)))
		a := s.ask(`,"plugins":["program"],"trace":true`, turn("user", "Look: ", one))
		rows := 0
		for _, b := range a.Choices[0].Branches {
			for _, token := range b.Tokens {
				if token.ID < 0 {
					rows++
				}
				if token.ID < -1 || (token.ID == -1) != (token.Token == "") {
					t.Errorf("a token is %+v", token)
				}
			}
		}
		if most := a.Usage.Details.Image; rows == 0 || rows > most {
			t.Errorf("%d rows of a picture of %d tokens are told", rows, most)
		}
	})
}
