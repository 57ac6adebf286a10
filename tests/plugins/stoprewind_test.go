// SPDX-License-Identifier: MIT

package plugins

import (
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
)

// sentences is a stop rule that counts full stops and ends the answer with the third. It keeps no
// text, as the scaffold's does not, and may accept tokens, too.
func sentences(name string, accepts bool) []byte {
	const atText = 8192
	g := asm.New(`{"name":"` + name + `"}`)
	g.Globals = 1
	g.On(abi.ExportOpen, g.Bind(abi.BufferText, atText, 4096), asm.I32(0))
	if accepts {
		g.On(abi.ExportAccept, asm.I32(abi.AcceptContinue))
	}
	return g.On(abi.ExportStop, asm.Each(2, asm.Local(1),
		asm.I32(atText), asm.Local(2), asm.Add, asm.LoadByte, asm.I32('.'), asm.Equal,
		asm.When(asm.Global(0), asm.I32(1), asm.Add, asm.SetGlobal(0), asm.Global(0), asm.I32(3), asm.Equal,
			asm.When(asm.I32(-2), asm.Local(2), asm.Subtract, asm.Return))),
		asm.I32(abi.StopShow)).Wasm()
}

// A stop rule that counts sentences ends the answer after three, whatever the client has taken
// back of it meanwhile. The sentences are the client's own, so that they come when it wants: the
// model says one token without end, and no full stop.
func TestStop_ClientRewinds_SentencesAreCounted(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"always.wasm": hosts.Always("always", 300), "a.wasm": sentences("counting", false), "b.wasm": sentences("accepting", true)})
	if piece := hosts.Piece(t, 300); strings.Contains(piece, ".") {
		t.Fatalf("token 300 is %q", piece)
	}
	for _, name := range []string{"counting", "accepting"} {
		for tokens := 1; tokens <= 6; tokens++ {
			c := hosts.Dial(t, h)
			c.Send(`{"type":"generate","id":"a","request":{"prompt":"Hello","max_tokens":900,"plugins":["always","` + name + `"]}}`)
			c.Until("started")
			for _, frame := range []string{
				`{"type":"pause","id":"a"}`, `{"type":"inject","id":"a","text":" One. Two."}`, fmt.Sprintf(`{"type":"rewind","id":"a","tokens":%d}`, tokens),
				`{"type":"inject","id":"a","text":" On."}`, `{"type":"rewind","id":"a","tokens":1}`, `{"type":"inject","id":"a","text":". On."}`, `{"type":"inject","id":"a","text":" On. On."}`, `{"type":"resume","id":"a"}`,
			} {
				c.Send(frame)
			}
			for ended := false; !ended; {
				switch f := c.Frame(); f.Type {
				case "rewound":
					c.Texts["a"] = strings.TrimSuffix(c.Texts["a"], f.Removed)
				case "end":
					ended = true
					if n := strings.Count(c.Texts["a"], "."); n != 3 || f.Reason != "stop" {
						t.Errorf("%s, %d tokens taken back: %d sentences, ended by %s: %q", name, tokens, n, f.Reason, c.Texts["a"])
					}
				}
			}
		}
	}
}
