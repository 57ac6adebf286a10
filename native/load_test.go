// SPDX-License-Identifier: MIT

package native

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/steadytest"
)

func TestLoadModel_BadFiles(t *testing.T) {
	dir := t.TempDir()
	good, err := os.ReadFile(builtIn)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
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
	devices, err := Devices()
	if err != nil {
		t.Fatal(err)
	}
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
