// SPDX-License-Identifier: MIT

package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/tools/must"
)

// Of adapters from the same file, one may be unloaded and not collected yet: the one that was
// loaded last is in use.
func TestEngine_AdapterKey_IsOfTheAdapterLoadedLast(t *testing.T) {
	e := &Engine{identity: newIdentity(Options{})}
	for number := range uint64(20) {
		e.identity.adapters[number] = "a"
	}
	e.identity.adapters[20] = "b"
	for range 10 { // in some order of the map
		if key, err := e.AdapterKey("a:1 b:2 "); key != "19:1 20:2 " || err != nil {
			t.Fatalf("%q, %v", key, err)
		}
	}
}

// Whatever changes what cells hold, or what a state means, is another identity: slot files and
// conversations on the disk of before are then none of this engine's.
func TestIdentity_Model_TellsApart(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, at int) string {
		weights := make([]byte, 8<<20)
		if at >= 0 {
			for i := range 64 << 10 {
				weights[at+i] = 1 // in the middle, as of some layers that were tuned
			}
		}
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, weights, 0o600))
		return path
	}
	first, tuned, second, other := write("first", -1), write("tuned", 4<<20), write("second", -1), write("other", 0)
	all := map[string]string{}
	note := func(what string, o Options, positions int) {
		i := newIdentity(o)
		i.positions = positions
		got := must.Get(i.ofModel())(t)
		if same, known := all[got]; known {
			t.Errorf("%s is the same as %s", what, same)
		}
		all[got] = what
	}
	note("plain", Options{Path: first}, 100)
	note("tuned in the middle", Options{Path: tuned}, 100)
	note("two files", Options{Path: first, Parts: []string{first, second}}, 100)
	note("another second file", Options{Path: first, Parts: []string{first, other}}, 100)
	note("no flash attention", Options{Path: first, Context: native.ContextOptions{FlashAttention: "off"}}, 100)
	note("full windows", Options{Path: first, Context: native.ContextOptions{FullWindowCache: true}}, 100)
	note("quantised", Options{Path: first, Context: native.ContextOptions{TypeK: "q8_0"}}, 100)
	note("control vector", Options{Path: first, ControlVectors: ControlVectors{Vectors: []ControlVector{{Path: second, Scale: 1}}}}, 100)
	long := filepath.Join(dir, "long.gguf")
	h := &gguf.Header{}
	h.Set("general.architecture", gguf.NewString("phi3"))
	h.Append("rope_factors_long.weight", gguf.F32, 32)
	var b bytes.Buffer
	must.Do(t, h.Write(&b))
	must.Do(t, os.WriteFile(long, append(b.Bytes(), make([]byte, 4*32)...), 0o600))
	note("long rotations", Options{Path: long}, 4096)
	note("long rotations in a longer context", Options{Path: long}, 8192)
	note("long rotations in the second file", Options{Path: first, Parts: []string{first, long}}, 4096)
	note("the same in a longer context", Options{Path: first, Parts: []string{first, long}}, 8192)
	t.Setenv("LLAMA_ATTN_ROT_DISABLE", "1")
	note("without rotation", Options{Path: first}, 100)
}
