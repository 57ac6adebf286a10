// SPDX-License-Identifier: MIT

package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

func TestLoadModel_BadFiles(t *testing.T) {
	dir := t.TempDir()
	good := must.Get(os.ReadFile(builtIn))(t)
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, data, 0o600))
		return path
	}
	unknown := strings.Replace(string(good), "general.architecture\x08\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00llama",
		"general.architecture\x08\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00nonce", 1)
	if unknown == string(good) {
		t.Fatal("the built-in model's architecture was not found in its header")
	}
	for name, c := range map[string]struct {
		path   string
		kind   error
		reason string
	}{
		"absent":               {filepath.Join(dir, "nowhere.gguf"), ErrNotFound, "nowhere.gguf"},
		"a folder":             {dir, ErrNotGGUF, "folder"},
		"a device":             {os.DevNull, ErrNotGGUF, "regular"},
		"zero in the path":     {"a\x00b", ErrBadModel, "invalid"},
		"empty":                {write("empty", nil), ErrNotGGUF, "0 bytes"},
		"text":                 {write("text", []byte("hello, world")), ErrNotGGUF, "GGUF"},
		"magic alone":          {write("magic", good[:4]), ErrBadModel, ""},
		"cut in the header":    {write("header", good[:1000]), ErrBadModel, ""},
		"cut in the tensors":   {write("tensors", good[:len(good)/2]), ErrBadModel, "corrupted"},
		"version 99":           {write("version", append([]byte("GGUF\x63\x00\x00\x00"), good[8:]...)), ErrBadModel, "version"},
		"unknown architecture": {write("arch", []byte(unknown)), ErrUnsupported, "nonce"},
		"vocabulary only":      {filepath.Join(llamaSource(t), "models", "ggml-vocab-llama-spm.gguf"), ErrBadModel, "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := LoadModel(t.Context(), c.path, ModelOptions{})
			if err == nil {
				closing(t, m)
			}
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("got %v\nwant %v with %q", err, c.kind, c.reason)
			}
		})
	}
}

func TestLoadModel_Progress(t *testing.T) {
	last, calls := float32(-1), 0
	loadBuiltIn(t, ModelOptions{Progress: func(done float32) {
		if done < last || done > 1 {
			t.Errorf("%v after %v", done, last)
		}
		last, calls = done, calls+1
	}})
	if last != 1 || calls < 2 {
		t.Errorf("%d calls, the last with %v", calls, last)
	}
}

func TestLoadModel_Cancelled(t *testing.T) {
	before := LiveObjects()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no longer wanted")
	_, err := LoadModel(ctx, builtIn, ModelOptions{Progress: func(float32) { cancel(why) }})
	if !errors.Is(err, ErrCancelled) || !errors.Is(err, why) {
		t.Errorf("cancelled while loading: got %v", err)
	}
	_, err = LoadModel(ctx, builtIn, ModelOptions{})
	if !errors.Is(err, ErrCancelled) || !errors.Is(err, why) {
		t.Errorf("cancelled before: got %v", err)
	}
	if after := LiveObjects(); after != before {
		t.Errorf("%+v before, %+v after", before, after)
	}
}

func TestModel_Info_BuiltIn(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	info := m.Info()
	if info.Architecture != "llama" || info.Name != "Penstock Tiny" || info.Parameters != 1553120 || info.ContextTrain != 1024 ||
		info.Vocabulary != 1536 || !info.Decoder || info.Encoder || info.Recurrent || info.Hybrid || info.Window != 0 {
		t.Errorf("%+v", info)
	}
	if s := info.Special; info.FileType != "Q8_0" || info.VocabType != 2 || info.AddBOS || s.BOS != 0 || s.FIMPrefix != -1 || s.FIMSeparator != -1 {
		t.Errorf("file type %q, vocabulary %d, BOS added %v, %+v", info.FileType, info.VocabType, info.AddBOS, s)
	}
	meta := m.meta
	if meta["general.architecture"] != "llama" || meta["llama.block_count"] != "5" {
		t.Errorf("%v", meta)
	}
	source, err := m.ChatTemplate("")
	if err != nil || !strings.Contains(source, "<|im_start|>") {
		t.Errorf("template %q, %v", source, err)
	}
	if source, err := m.ChatTemplate("nonesuch"); err != nil || source != "" {
		t.Errorf("an absent template: %q, %v", source, err)
	}
}

func TestModel_Piece_EveryToken(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	ends, control := 0, 0
	for token := range int32(m.Info().Vocabulary) {
		piece, special := m.Piece(token), m.SpecialPiece(token)
		if m.Attributes(token)&AttributeControl != 0 {
			control++
			if piece != "" || special == "" {
				t.Errorf("control token %d: %q, %q", token, piece, special)
			}
		} else if piece != special || piece == "" {
			t.Errorf("token %d: %q, %q", token, piece, special)
		}
		if m.EndOfGeneration(token) {
			ends++
		}
	}
	if ends == 0 || control == 0 {
		t.Errorf("%d tokens end a generation, %d are control tokens", ends, control)
	}
	for _, token := range []int32{-1, 1536, 1<<31 - 1, -1 << 31} {
		if m.Piece(token) != "" || m.SpecialPiece(token) != "" || m.Attributes(token) != 0 || m.EndOfGeneration(token) {
			t.Errorf("token %d outside the vocabulary is something", token)
		}
		if _, err := m.Detokenize([]int32{token}, DetokenizeOptions{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("detokenize %d: got %v, want ErrInvalid", token, err)
		}
	}
	if n := testing.AllocsPerRun(10, func() { _ = m.Piece(100) }); n != 0 {
		t.Errorf("%v allocations a piece", n)
	}
}

// Long runs of one kind of character make std::regex recurse at each character; a thread of its
// own has the stack for it.
func TestModel_Tokenize_LongRuns(t *testing.T) {
	for _, name := range steadytest.Some(t, []string{"deepseek-llm", "falcon", "gpt-2", "llama-bpe", "llama-spm", "bert-bge"}, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := load(t, filepath.Join(llamaSource(t), "models", "ggml-vocab-"+name+".gguf"), ModelOptions{VocabOnly: true})
			for _, unit := range []string{"a", " ", "7", "\n", "é", "!", "世", "\xff", "\x00"} {
				text := strings.Repeat(unit, 60000)
				if name == "bert-bge" {
					text = strings.Repeat(unit, 3000) // the search for the longest match is quadratic in a word
				}
				if _, err := m.Tokenize(t.Context(), text, TokenizeOptions{AddSpecial: true, ParseSpecial: true}); err != nil {
					t.Errorf("%q: %v", unit, err)
				}
			}
		})
	}
}

func TestDevices_CPU(t *testing.T) {
	devices := must.Get(Devices())(t)
	for _, d := range devices {
		if d.Kind == "cpu" && d.Name != "" && d.Total > 0 {
			info, err := SystemInfo()
			if err != nil || !strings.Contains(info, "CPU") || Version() == "" || PhysicalCores() < 1 {
				t.Errorf("system info %q (%v), version %q, %d cores", info, err, Version(), PhysicalCores())
			}
			return
		}
	}
	t.Errorf("no CPU among %+v", devices)
}

func TestLoadModel_OptionsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		options ModelOptions
		says    string
	}{
		"split mode":           {ModelOptions{SplitMode: "rows"}, "layer, none, row, tensor"},
		"load mode":            {ModelOptions{LoadMode: "fast"}, "auto, dio, mlock"},
		"lazy mode":            {ModelOptions{LazyMode: "1"}, "auto, off, on"},
		"no such device":       {ModelOptions{Devices: []string{"CUDA9"}}, "besides the CPU there are: "},
		"the CPU":              {ModelOptions{Devices: []string{"CPU"}}, "does not exist"},
		"zero byte":            {ModelOptions{Devices: []string{"a\x00b"}}, "zero byte"},
		"split mode tensor":    {ModelOptions{SplitMode: "tensor"}, "needs a GPU"},
		"no pattern":           {ModelOptions{TensorOverrides: []TensorOverride{{"", "CPU"}}}, "1 to 1024"},
		"long pattern":         {ModelOptions{TensorOverrides: []TensorOverride{{strings.Repeat("a", 1025), "CPU"}}}, "1 to 1024"},
		"no pattern of theirs": {ModelOptions{TensorOverrides: []TensorOverride{{"blk.(", "CPU"}}}, "no regular expression"},
		"no such buffer":       {ModelOptions{TensorOverrides: []TensorOverride{{"blk", "CUDA9"}}}, "there are: CPU"},
		"many overrides":       {ModelOptions{TensorOverrides: make([]TensorOverride, 4096)}, "4095"},
		"override of no type":  {ModelOptions{KVOverrides: []MetadataOverride{{"a", "i32", "1"}}}, "int, float, bool and str"},
		"override, no number":  {ModelOptions{KVOverrides: []MetadataOverride{{"a", "int", "1.5"}}}, "invalid syntax"},
		"override, no flag":    {ModelOptions{KVOverrides: []MetadataOverride{{"a", "bool", "1"}}}, "neither true nor false"},
		"override, no key":     {ModelOptions{KVOverrides: []MetadataOverride{{"", "int", "1"}}}, "1 to 127"},
		"override, long text":  {ModelOptions{KVOverrides: []MetadataOverride{{"a", "str", strings.Repeat("x", 128)}}}, "127 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := LoadModel(t.Context(), builtIn, c.options)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want ErrInvalid that says %q", err, c.says)
			}
			if m != nil {
				_ = m.Close()
			}
		})
	}
}

// Whatever way the weights come into memory, from one file or several, they are the same, and
// adapters fit them.
func TestLoadModel_WaysToLoad(t *testing.T) {
	data, err := os.ReadFile(builtIn)
	if err != nil {
		t.Fatal(err)
	}
	parts := must.Get(synth.Split(data))(t)
	folder := t.TempDir()
	for i, part := range parts {
		must.Do(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("m-%05d-of-00002.gguf", i+1)), part, 0o600))
	}
	text := func(t *testing.T, path string, o ModelOptions) []int32 {
		m := load(t, path, o)
		c := newContext(t, m, ContextOptions{Cells: 256, Threads: 1})
		plain := generate(t, c, newSampler(t, m, greedy()), []int32{5, 6, 7, 8}, 12)
		must.Do(t, c.Remove(0, -1, -1))
		setAdapters(t, c, ScaledAdapter{loadAdapter(t, m, synth.Adapter{Seed: 1}), 1})
		return append(plain, generate(t, c, newSampler(t, m, greedy()), []int32{5, 6, 7, 8}, 12)...)
	}
	want := text(t, builtIn, ModelOptions{})
	for name, o := range map[string]ModelOptions{
		"auto": {LoadMode: "auto"}, "none": {LoadMode: "none"}, "mlock": {LoadMode: "mlock"}, "mmap+mlock": {LoadMode: "mmap+mlock"}, "dio": {LoadMode: "dio"},
		"no device": {Devices: []string{"none"}, GPULayers: -1}, "no repack": {NoRepack: true}, "no host": {NoHost: true}, "lazy": {LazyMode: "on"},
		"in the CPU's buffers": {TensorOverrides: []TensorOverride{{`\.ffn_(up|down)\.`, "CPU"}}},
		"a share of no device": {TensorSplit: []float32{3, 1}},
	} {
		for _, path := range []string{builtIn, filepath.Join(folder, "m-00001-of-00002.gguf")} {
			t.Run(name+"/"+filepath.Base(path), func(t *testing.T) {
				if got := text(t, path, o); !slices.Equal(got, want) {
					t.Errorf("%v, want %v", got, want)
				}
			})
		}
	}
	must.Do(t, os.Remove(filepath.Join(folder, "m-00002-of-00002.gguf")))
	_, err = LoadModel(t.Context(), filepath.Join(folder, "m-00001-of-00002.gguf"), ModelOptions{})
	if !errors.Is(err, ErrBadModel) || !strings.Contains(err.Error(), "m-00002-of-00002.gguf") {
		t.Errorf("without its second part: %v", err)
	}
}

// llama.cpp asserts that a head fits the blocks of a quantised type.
func TestNewContext_HeadsThatDoNotFitBlocks(t *testing.T) {
	m := synthetic(t, synth.Shape{Name: "odd heads", Dim: 96, Layers: 1, Heads: 2, KVHeads: 1, FFN: 96, Context: 256}, synth.Q80)
	for _, o := range []ContextOptions{{TypeK: "q8_0", FlashAttention: "off"}, {TypeK: "q4_0"}, {TypeV: "q8_0", FlashAttention: "on"}} {
		c, err := NewContext(m, o)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "48") {
			t.Errorf("%+v: %v, want ErrInvalid that names the width of a head", o, err)
		}
		if c != nil {
			closing(t, c)
		}
	}
}

func TestNewContext_OptionsRefused(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	for name, c := range map[string]struct {
		options ContextOptions
		says    string
	}{
		"V without flash attention": {ContextOptions{TypeV: "q4_0", FlashAttention: "off"}, "needs flash attention"},
		"type of K":                 {ContextOptions{TypeK: "q6_k"}, "bf16, f16, f32, iq4_nl"},
		"rope scaling":              {ContextOptions{Rope: Rope{Scaling: "ntk"}}, "linear, longrope, model, none, yarn"},
		"tiny rope scale":           {ContextOptions{Rope: Rope{FreqScale: 1e-9}}, "at least 1e-6"},
		"rope base":                 {ContextOptions{Rope: Rope{FreqBase: -1}}, "0 or more"},
		"rope scale":                {ContextOptions{Rope: Rope{FreqScale: float32(math.NaN())}}, "0 or more"},
		"YaRN":                      {ContextOptions{Rope: Rope{YaRN: &YaRN{ExtFactor: float32(math.Inf(1))}}}, "ext factor"},
		"YaRN's context":            {ContextOptions{Rope: Rope{YaRN: &YaRN{OrigCtx: -1}}}, "original context"},
		"threads for batches":       {ContextOptions{ThreadsBatch: 513}, "1 to 512"},
	} {
		t.Run(name, func(t *testing.T) {
			context, err := NewContext(m, c.options)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want ErrInvalid that says %q", err, c.says)
			}
			if context != nil {
				closing(t, context)
			}
		})
	}
}

var tiedShape = synth.Shape{Name: "tied", Dim: 256, Layers: 4, Heads: 4, KVHeads: 2, FFN: 704, Context: 2048}

// untied copies a model whose embedding is its output layer, with an output layer of its own, of
// the same numbers.
func untied(t *testing.T, path string) string {
	t.Helper()
	file := must.Get(os.ReadFile(path))(t)
	h := must.Get(gguf.Read(bytes.NewReader(file), int64(len(file))))(t)
	weights := file[h.DataOffset:]
	embedding := h.Tensors[slices.IndexFunc(h.Tensors, func(t gguf.Tensor) bool { return t.Name == "token_embd.weight" })]
	h.Append("output.weight", embedding.Type, embedding.Dims...)
	output := h.Tensors[len(h.Tensors)-1]
	weights = append(weights[:len(weights):len(weights)], make([]byte, output.Offset+output.Size()-uint64(len(weights)))...)
	copy(weights[output.Offset:], weights[embedding.Offset:][:embedding.Size()])
	var out bytes.Buffer
	must.Do(t, h.Write(&out))
	out.Write(weights)
	to := filepath.Join(t.TempDir(), "untied.gguf")
	must.Do(t, os.WriteFile(to, out.Bytes(), 0o600))
	return to
}

// An embedding that is the output layer, too, is laid out for products, and tokens are looked up
// there: to the bit as in the file.
func TestLoad_TiedEmbedding_LookedUpAsInFile(t *testing.T) {
	useOnly(t, PenstockKernels)
	for _, quant := range []synth.Quant{synth.Q40, synth.Q80} {
		path := syntheticFile(t, tiedShape, quant)
		for _, threads := range []int{1, 3} {
			o := ContextOptions{Cells: 1024, Sequences: 3, Rows: 256, Threads: threads}
			tied, apart := logitsOf(t, load(t, path, ModelOptions{}), o), logitsOf(t, load(t, untied(t, path), ModelOptions{}), o)
			if len(tied) == 0 || !slices.Equal(tied, apart) {
				t.Errorf("%v, %d threads: %d logits are not those of the same model with an output layer apart (%d)", quant, threads, len(tied), len(apart))
			}
		}
	}
}
