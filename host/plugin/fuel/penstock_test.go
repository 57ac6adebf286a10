// SPDX-License-Identifier: MIT

package fuel

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/plugins/abi"
)

// penstock is what one plugin sees of a host: the same to the original and to what was made of it.
// It gives host functions as they are documented and checks nothing.
type penstock struct {
	history []uint32
	bound   map[uint32][2]uint32 // by kind: where, bytes
	said    []string             // what it emitted, logged and refused
	draws   uint64
}

// oneConfig has the fields of all examples.
const oneConfig = `{"scripts":["Latin"],"schema":{"type":"object","properties":{"name":{"type":"string","maxLength":9},"list":{"type":"array","items":{"type":"number"}}},
	"required":["name","list"]},"phrases":["abc","b a"],"choices":["abcd","ab e","f"],"pattern":"c a+","tokens":8,"times":3,"key":7,"bonus":2,"share":0.5,"min_p":0.1,"draw":true,
	"grammar":"root ::= .*","strength":10,"ignore_case":true,"min":0.5,"max":1.5,"exponent":1,"width":2,"groups":1,"window":4,"n":2,"entropy":1,"without":"e","particles":2,"template":"A: {a}\nB: {b}\n","max_tokens":8,"at_once":2,"length_penalty":1,"answer":"a+","warmup":1,"k":2,"tables":{"orders":["id"]},"normalize":"none",
	"scale":1.5,"plausible":0.1,"context":8,"least":-2,"bytes":1000,"layers":[{"weights":[[1]],"bias":[0]}],"user":"User","assistant":"Assistant","keep":1,"image":"[picture]","audio":""}`

const oneConversation = `[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"image","text":"<m>","hash":"00"},{"type":"text","text":"h\u00e9, \"you\""},{"type":"image","text":"<n>","hash":"01"}]}]`

// pieces are all bytes, some words, and the end, which has none.
var pieces = func() (p []string) {
	for b := range 256 {
		p = append(p, string([]byte{byte(b)}))
	}
	return append(p, "ab", "abc", " a", " b", "{\"", "\":", "name", "list", " [", "12", "é", "")
}()

type penstockKey struct{}

// hostFunction gets its parameters in s, and leaves its result there.
type hostFunction func(p *penstock, m api.Memory, s []uint64)

func give(m api.Memory, at, limit uint64, b []byte) uint64 {
	if uint64(len(b)) <= limit {
		m.Write(uint32(at), b)
	}
	return uint64(len(b))
}

func giveWords(m api.Memory, at, limit uint64, words []uint32) uint64 {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return give(m, at, 4*limit, b) / 4
}

func text(m api.Memory, at, size uint64) string {
	b, _ := m.Read(uint32(at), uint32(size))
	return string(b)
}

var hostFunctions = map[string]hostFunction{
	abi.ImportConfig:   func(_ *penstock, m api.Memory, s []uint64) { s[0] = give(m, s[0], s[1], []byte(oneConfig)) },
	abi.ImportMessages: func(_ *penstock, m api.Memory, s []uint64) { s[0] = give(m, s[0], s[1], []byte(oneConversation)) },
	abi.ImportHistory: func(p *penstock, m api.Memory, s []uint64) {
		from := int(int32(s[0]))
		if from < 0 {
			from = max(0, len(p.history)+from)
		}
		s[0] = giveWords(m, s[1], s[2], p.history[min(from, len(p.history)):])
	},
	abi.ImportFeature: func(_ *penstock, m api.Memory, s []uint64) {
		if name := text(m, s[0], s[1]); offers(name) {
			s[0] = 1
			return
		}
		s[0] = 0
	},
	abi.ImportParam: func(_ *penstock, _ api.Memory, s []uint64) {
		s[0] = []uint64{promptTokens, 200, 4096, 1, 1_800_000_000_000, 0, 1}[s[0]]
	},
	abi.ImportVocabSize: func(_ *penstock, _ api.Memory, s []uint64) { s[0] = uint64(len(pieces)) },
	abi.ImportPiece: func(_ *penstock, m api.Memory, s []uint64) {
		if t := int32(s[0]); t < 0 || int(t) >= len(pieces) {
			s[0] = api.EncodeI32(-1)
			return
		}
		s[0] = give(m, s[1], s[2], []byte(pieces[s[0]]))
	},
	abi.ImportVocab: func(_ *penstock, m api.Memory, s []uint64) {
		all := make([]byte, 4)
		for _, piece := range pieces {
			all = binary.LittleEndian.AppendUint32(all, binary.LittleEndian.Uint32(all[len(all)-4:])+uint32(len(piece)))
		}
		s[0] = give(m, s[0], s[1], append(all, strings.Join(pieces, "")...))
	},
	abi.ImportTokenAttr: func(_ *penstock, _ api.Memory, s []uint64) {
		switch t := int32(s[0]); {
		case t < 0 || int(t) >= len(pieces):
			s[0] = api.EncodeI32(-1)
		case pieces[t] == "":
			s[0] = abi.AttrControl | abi.AttrEnd
		default:
			s[0] = 0
		}
	},
	abi.ImportSpecial: func(_ *penstock, _ api.Memory, s []uint64) { s[0] = uint64(len(pieces) - 1) },
	abi.ImportTokenize: func(_ *penstock, m api.Memory, s []uint64) {
		var tokens []uint32
		for _, b := range []byte(text(m, s[0], s[1])) {
			tokens = append(tokens, uint32(b))
		}
		s[0] = giveWords(m, s[3], s[4], tokens)
	},
	abi.ImportRandom: func(p *penstock, _ api.Memory, s []uint64) {
		p.draws++
		s[0] = abi.Draw(0, 0, 0, p.draws)
	},
	abi.ImportBind: func(p *penstock, _ api.Memory, s []uint64) {
		p.bound[uint32(s[0])] = [2]uint32{uint32(s[1]), uint32(s[2])}
		s[0] = 0
	},
	abi.ImportEmit: func(p *penstock, m api.Memory, s []uint64) { p.said = append(p.said, "emit "+text(m, s[0], s[1])) },
	abi.ImportFail: func(p *penstock, m api.Memory, s []uint64) { p.said = append(p.said, "fail "+text(m, s[0], s[1])) },
	abi.ImportGrammarOpen: func(p *penstock, m api.Memory, s []uint64) {
		p.said = append(p.said, fmt.Sprint("grammar ", s[0], text(m, s[1], s[2])))
		s[0] = 0
	},
	abi.ImportGrammarMask:       grammarMask,
	abi.ImportGrammarMaskWithin: grammarMask,
	abi.ImportGrammarRest:       func(p *penstock, _ api.Memory, s []uint64) { s[0] = uint64(len(p.history) % 5) },
	abi.ImportGrammarReason:     func(_ *penstock, m api.Memory, s []uint64) { s[0] = give(m, s[0], s[1], []byte("no reason")) },
	abi.ImportGrammarAccept:     func(_ *penstock, _ api.Memory, s []uint64) { s[0] = api.EncodeI32(-int32(s[1] % 2)) },
	abi.ImportLog: func(p *penstock, m api.Memory, s []uint64) {
		p.said = append(p.said, fmt.Sprint("log ", s[0], text(m, s[1], s[2])))
	},
}

// known are the host functions that this host has.
var known = map[string]bool{}

func init() {
	for name := range hostFunctions {
		known[name] = true
	}
}

// offers reports whether this host has a feature. It has no branches, and of the imports that are
// features those above.
func offers(feature string) bool {
	ours := known[feature]
	return ours || feature != abi.FeatureBranches && slices.Contains(abi.Features, feature) && !abi.Has(abi.Imports, feature)
}

// grammarMask allows every third byte, beginning with another each time.
func grammarMask(p *penstock, m api.Memory, s []uint64) {
	mask := make([]uint32, (len(pieces)+31)/32)
	for t := len(p.history) % 3; t < 256; t += 3 {
		mask[t/32] |= 1 << (t % 32)
	}
	giveWords(m, uint64(p.bound[abi.BufferMask][0]), uint64(len(mask)), mask)
	s[0] = 0
}

// offerPenstock puts the host functions that a module asks for into a runtime. Each finds its
// penstock in the call's context.
func offerPenstock(t *testing.T, r wazero.Runtime, imports []api.FunctionDefinition) {
	t.Helper()
	for _, module := range []string{abi.Module, abi.Optional} {
		offerModule(t, r, module, imports)
	}
}

func offerModule(t *testing.T, r wazero.Runtime, offered string, imports []api.FunctionDefinition) {
	t.Helper()
	b := r.NewHostModuleBuilder(offered)
	for _, f := range imports {
		module, name, _ := f.Import()
		if module != offered {
			continue
		}
		serve, ok := hostFunctions[name]
		if !ok && module == abi.Optional {
			serve = func(*penstock, api.Memory, []uint64) {
				panic(name + " is called, though the host says that it has none")
			}
		} else if !ok {
			t.Fatalf("there is no host function %s here; add it", name)
		}
		b = b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, s []uint64) {
			for i := range f.ParamTypes() {
				s[i] = uint64(uint32(s[i])) // all are i32, whose upper halves are anything
			}
			serve(ctx.Value(penstockKey{}).(*penstock), m.Memory(), s)
		}), slices.Clone(f.ParamTypes()), slices.Clone(f.ResultTypes())).Export(name)
	}
	if _, err := b.Instantiate(t.Context()); err != nil {
		t.Fatal(err)
	}
}
