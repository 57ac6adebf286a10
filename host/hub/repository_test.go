// SPDX-License-Identifier: MIT

package hub

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse_Forms(t *testing.T) {
	for text, want := range map[string]Reference{
		"owner/name":                           {Repository: "owner/name", Revision: "main"},
		"Qwen/Qwen2.5-7B_x-GGUF:q4_k_m":        {Repository: "Qwen/Qwen2.5-7B_x-GGUF", Revision: "main", Quant: "q4_k_m"},
		"hf://owner/name:IQ4_XS":               {Repository: "owner/name", Revision: "main", Quant: "IQ4_XS"},
		"hf.co/owner/name:Q8_0":                {Repository: "owner/name", Revision: "main", Quant: "Q8_0"},
		"owner/name@v1.2:Q8_0":                 {Repository: "owner/name", Revision: "v1.2", Quant: "Q8_0"},
		"hf://owner/name@refs/pr/1":            {},
		"hf://owner/name@abc/sub/m.gguf":       {Repository: "owner/name", Revision: "abc", File: "sub/m.gguf"},
		"owner/name/m.gguf":                    {Repository: "owner/name", Revision: "main", File: "m.gguf"},
		"https://huggingface.co/owner/name":    {Repository: "owner/name", Revision: "main"},
		"https://hf.co/o/n/blob/main/a b.gguf": {Repository: "o/n", Revision: "main", File: "a b.gguf"},
		"https://huggingface.co/o/n/resolve/v2/sub/m.gguf?download=true": {Repository: "o/n", Revision: "v2", File: "sub/m.gguf"},
		"https://huggingface.co/o/n/tree/v2":                             {Repository: "o/n", Revision: "v2"},
	} {
		got, err := Parse(text)
		if want.Repository == "" {
			if !errors.Is(err, ErrReference) {
				t.Errorf("%s: %+v, %v", text, got, err)
			}
			continue
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	got, err := Parse("https://models.example.org:8080/a/m-00001-of-00002.gguf?key=1")
	if err != nil || got.URL == nil || got.URL.Host != "models.example.org:8080" || got.Repository != "" {
		t.Errorf("a URL: %+v, %v", got, err)
	}
}

func TestParse_Wrong(t *testing.T) {
	for text, says := range map[string]string{
		"":                           "OWNER/NAME",
		"name":                       "OWNER/NAME",
		"owner/":                     "OWNER/NAME",
		"../name":                    "OWNER/NAME",
		"owner/na--me":               "OWNER/NAME",
		"owner/name:":                "Q4_K_M",
		"owner/name:a b":             "Q4_K_M",
		"owner/name@":                "branch",
		"owner/name@../x":            "branch",
		"owner/name/m.safetensors":   ".gguf",
		"owner/name/../../m.gguf":    "stay in the repository",
		"ftp://host/m.gguf":          "ftp:// is not supported",
		"https://host/m.bin":         ".gguf",
		"https://u:secret@h/m.gguf":  "password",
		"https:///m.gguf":            "URL",
		"hf://owner/name/m.gguf\x00": "",
	} {
		_, err := Parse(text)
		if !errors.Is(err, ErrReference) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"owner/name:Q4_K_M", "hf://o/n@main/a/m.gguf", "https://hf.co/o/n/blob/main/m.gguf", "https://h/m.gguf?a=b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(r.String())
		if err != nil {
			t.Fatalf("%q became %q, which is refused: %v", text, r, err)
		}
		if diff := cmp.Diff(r.String(), again.String()); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	})
}

func TestChoose_AsLlamaServerDoes(t *testing.T) {
	for name, tc := range map[string]struct {
		paths       []string
		quant, file string
		want        []string // nil: not found
	}{
		"Q4_K_M first":              {paths: []string{"a-F16.gguf", "a-Q8_0.gguf", "a-q4_k_m.gguf"}, want: []string{"a-q4_k_m.gguf"}},
		"then Q8_0":                 {paths: []string{"a-F16.gguf", "a-Q8_0.gguf"}, want: []string{"a-Q8_0.gguf"}},
		"then the first":            {paths: []string{"README.md", "mmproj-F16.gguf", "b-F16.gguf", "c-F16.gguf"}, want: []string{"b-F16.gguf"}},
		"asked for":                 {paths: []string{"a-Q4_K_M.gguf", "a-Q5_K_S.gguf"}, quant: "q5_k_s", want: []string{"a-Q5_K_S.gguf"}},
		"not a beginning":           {paths: []string{"a-Q4_K_M.gguf"}, quant: "Q4_K"},
		"no pattern":                {paths: []string{"a-Q4_K_M.gguf"}, quant: "Q4.K.M"},
		"companions are none":       {paths: []string{"mmproj-Q8_0.gguf", "mtp-a-Q8_0.gguf", "a.imatrix-Q8_0.gguf"}, quant: "Q8_0"},
		"a companion that is named": {paths: []string{"a.gguf", "mmproj-F16.gguf"}, file: "mmproj-F16.gguf", want: []string{"mmproj-F16.gguf"}},
		"all parts": {paths: []string{"Q8_0/a-Q8_0-00002-of-00002.gguf", "Q8_0/a-Q8_0-00001-of-00002.gguf", "a-Q8_0-00001-of-00003.gguf"}, quant: "Q8_0",
			want: []string{"Q8_0/a-Q8_0-00001-of-00002.gguf", "Q8_0/a-Q8_0-00002-of-00002.gguf"}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []entry
			for _, p := range tc.paths {
				all = append(all, entry{Type: "file", Path: p})
			}
			got, err := choose(Reference{Repository: "o/n", Quant: tc.quant, File: tc.file}, all)
			if tc.want == nil {
				if !errors.Is(err, ErrNotFound) {
					t.Errorf("got %v, %v", names(got), err)
				}
				return
			}
			if err != nil || !slices.Equal(names(got), tc.want) {
				t.Errorf("got %v, %v, want %v", names(got), err, tc.want)
			}
		})
	}
}
