// SPDX-License-Identifier: MIT

package examples

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/host/grammar/grammartest"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// many is a vocabulary the size of Llama 3's: newWords, then made-up words of 2 to 12 letters,
// most of them with a space before them, some with punctuation.
func many() words {
	w := newWords()
	r := rand.New(rand.NewPCG(1, 1))
	heads := []string{"\"", "{\"", ".", "\\", "\n"}
	tails := []string{"\"", "\":", "\",", ".", "()", "\n", "\\", "\xc3"}
	for len(w) < 128_255 {
		piece := make([]byte, 2+r.IntN(11))
		for i := range piece {
			piece[i] = byte('a' + r.IntN(26))
		}
		head, tail := []string{" ", " ", ""}[r.IntN(3)], ""
		switch r.IntN(20) { // of Llama 3's tokens, about one in fifteen begins or ends so
		case 0:
			head = heads[r.IntN(len(heads))]
		case 1:
			tail = tails[r.IntN(len(tails))]
		}
		w = append(w, head+string(piece)+tail)
	}
	w[len(w)-1] = endOfText
	return w
}

// BenchmarkJSONSchema_Prepare measures a mask over 128k tokens in states that come again: only the
// first is computed, the others are kept ones. Run it with -benchtime 1x for the price of the
// first.
func BenchmarkJSONSchema_Prepare(b *testing.B) {
	w := many()
	m := loaded(b, "json-schema", w)
	config := `{"schema":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"string","maxLength":100000}},"required":["name","age"]}}`
	for name, text := range map[string]string{
		"start": ``, "in a string": `{"name":"abc`, "in a bounded string": `{"name":"a","age":"abc`, "before a string": `{"name":`,
		"in an escape": `{"name":"\`,
	} {
		b.Run(name, func(b *testing.B) {
			s := opened(b, m, config)
			tokens := []scheduler.Token{0}
			for _, c := range []byte(text) {
				tokens = append(tokens, scheduler.Token(c))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				if err := s.Reset(tokens, 1); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := s.Prepare(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkJSONSchema_Prepare_EachCharacter measures masks in a state that never comes again: a
// string with a limit, in which less is left after each token.
func BenchmarkJSONSchema_Prepare_EachCharacter(b *testing.B) {
	m := loaded(b, "json-schema", many())
	s := opened(b, m, `{"schema":{"type":"object","properties":{"name":{"type":"string","minLength":8,"maxLength":40}},"required":["name"]}}`)
	var tokens []scheduler.Token
	for _, c := range []byte("\x00{\"name\":\"") {
		tokens = append(tokens, scheduler.Token(c))
	}
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		if i%30 == 0 {
			if err := s.Reset(tokens, 1); err != nil {
				b.Fatal(err)
			}
		} else if _, err := s.Accept('a'); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if _, err := s.Prepare(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMinP_Sample(b *testing.B) {
	for _, tc := range []struct{ name, plugin, config string }{
		{"rust", "min-p-rust", `{"min_p":0.2}`}, {"tinygo", "min-p", `{"min_p":0.2}`}, {"draw", "min-p", `{"min_p":0.2,"draw":true}`},
	} {
		b.Run(tc.name, func(b *testing.B) { benchmarkSample(b, tc.plugin, tc.config) })
	}
}

// benchmarkSample is one call over 256 candidates, the copies included.
func benchmarkSample(b *testing.B, name, config string) {
	w := newWords()
	s := opened(b, loaded(b, name, w), config)
	row := randomRow(1, len(w))
	slices.SortFunc(row, func(a, b float32) int { return cmp.Compare(b, a) }) // best first, as the host finds them
	ids, logits := make([]scheduler.Token, 256), make([]float32, 256)
	b.ReportAllocs()
	for b.Loop() {
		for i := range ids {
			ids[i] = scheduler.Token(i)
		}
		copy(logits, row)
		v := chain.View{Row: row, ID: ids, Logit: logits, N: 256, Chosen: -1}
		if err := s.Apply(&v); err != nil {
			b.Fatal(err)
		}
	}
}

// TestJSONSchema_LargeVocabulary_FitsTheFuel walks all of 128k tokens at once, uncached.
func TestJSONSchema_LargeVocabulary_FitsTheFuel(t *testing.T) {
	w := many()
	m := loaded(t, "json-schema", w)
	if m.Manifest.View != load.ViewNone || w.Attributes(int32(len(w)-1))&abi.AttrEnd == 0 {
		t.Fatal("the test does not look at what it should")
	}
	schema := []byte(fmt.Sprintf(`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"string","minLength":%d,"maxLength":60},
		"size":{"type":"number","minimum":-5}},"required":["name","age","size"]}`, 10))
	for seed := range uint64(3) {
		text, err := generate(t, m, w, schema, 60, rand.New(rand.NewPCG(seed, 5)))
		if err != nil {
			t.Fatal(err)
		}
		must.Do(t, grammartest.Fits(schema, text))
	}
}

// BenchmarkLoad is what a plugin takes from upload to usable: compiled anew, by a child as in a
// server that compiled another one before; compiled anew in the process itself, where there is no
// cache; and with its code in the cache. The machine's other work decides the mean, so the median
// is told too.
func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"min-p", "min-p-rust", "banned-phrases", "json-schema", "regex-stop", "stdgo/min-p"} {
		wasm := read(b, name)
		for kind, cache := range map[string]func(b *testing.B) (dir string){
			"uncached":   func(b *testing.B) string { return b.TempDir() },
			"in-process": func(*testing.B) string { return "" },
			"cached":     func(b *testing.B) string { return b.TempDir() },
		} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				dir := cache(b)
				l := load.New(plugin.HostOptions{CacheDir: dir, ModelOptions: plugin.ModelOptions{Vocabulary: newWords()}})
				loadOnce(b, l, wasm)
				var took []time.Duration
				for b.Loop() {
					if kind == "uncached" {
						b.StopTimer()
						forget(b, dir)
						time.Sleep(pause)
						b.StartTimer()
					}
					took = append(took, loadOnce(b, l, wasm))
				}
				if err := l.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
				b.ReportMetric(float64(took[0].Microseconds())/1000, "least-ms")
			})
		}
	}
}

// pause is between two uploads: the child that compiles the next one was started after the one
// before.
const pause = 150 * time.Millisecond

// forget removes what is in a folder.
func forget(b *testing.B, dir string) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	if err != nil {
		b.Fatal(err)
	}
}

func loadOnce(b *testing.B, l *load.Loader, wasm []byte) time.Duration {
	began := time.Now()
	p, err := l.Load(b.Context(), wasm)
	took := time.Since(began)
	if err != nil {
		b.Fatal(err)
	}
	p.Release()
	return took
}
