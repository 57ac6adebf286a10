// SPDX-License-Identifier: MIT

package session

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

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
		if err := file.Stream(&b); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(file, again, cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), cmp.Comparer(func(a, b Logit) bool { return sameLogit(float32(a), float32(b)) })); d != "" {
			t.Error(d)
		}
		p, err := NewPlayer(t.Context(), load.File{Content: wasm}, file, plugin.HostOptions{CacheDir: code})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = p.Close() }() // tested elsewhere
		for i := range file.Sessions {
			if d, err := p.Play(t.Context(), &file.Sessions[i]); err == nil && d != nil {
				_ = d.String()
			}
		}
	})
}
