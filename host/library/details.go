// SPDX-License-Identifier: MIT

package library

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock/penstock/native/gguf"
)

// Details are what the headers of a model's files say about it.
type Details struct {
	Architecture string // such as llama, also called its family
	Title        string // what its authors call it
	Parameters   uint64
	Quantisation string // such as Q4_K_M
	Weights      uint64 // bytes
	Context      int    // tokens it was trained for
	Layers       int
	Embedding    int // width
	Vocabulary   int
	Template     bool   // it has a chat template
	ChatTemplate string `json:"-"` // this one
	Licence      string
	Encoder      bool // it makes embeddings and does not generate
	Adapter      bool // it is no model but what changes one: a LoRA adapter or a control vector
}

// DetailsOf is what the header of a model says.
func DetailsOf(h *gguf.Header) Details {
	d := Details{
		Architecture: h.Architecture(), Title: h.Values["general.name"].Text(), Weights: h.TensorBytes(), Quantisation: quantisation(h),
		Template: h.Values["tokenizer.chat_template"].Text() != "", ChatTemplate: h.Values["tokenizer.chat_template"].Text(), Licence: licence(h),
		Context: number(h, "context_length"), Layers: number(h, "block_count"), Embedding: number(h, "embedding_length"),
		Vocabulary: len(h.Values["tokenizer.ggml.tokens"].Strings()),
		Adapter:    h.Values["general.type"].Text() == "adapter" || h.Architecture() == "controlvector",
		Encoder:    isFalse(h.Values[h.Architecture()+".attention.causal"]),
	}
	for _, t := range h.Tensors {
		d.Parameters += t.Elements()
	}
	return d
}

func isFalse(v gguf.Value) bool { return v.Type == gguf.Bool && v.Len() == 1 && v.Int(0) == 0 }

// number is a hyperparameter: the largest where there is one for each layer, 0 if absent.
func number(h *gguf.Header, key string) int {
	return int(slices.Max(append(numbers(h, key), 0)))
}

// numbers is a hyperparameter, with one number for each layer or one for all.
func numbers(h *gguf.Header, key string) (list []int64) {
	v := h.Values[h.Architecture()+"."+key]
	if v.Elem == gguf.String || v.Type == gguf.String {
		return nil
	}
	for i := range v.Len() {
		list = append(list, v.Int(i))
	}
	return list
}

// licence is the name of the licence, or its identifier.
func licence(h *gguf.Header) string {
	for _, key := range []string{"general.license.name", "general.license", "general.license.link"} {
		if text := h.Values[key].Text(); text != "" {
			return text
		}
	}
	return ""
}

// ParameterSize is the number of parameters as people say it: 7.6B, 135M.
func (d Details) ParameterSize() string {
	n := float64(d.Parameters)
	for _, u := range []struct {
		size float64
		unit string
	}{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}} {
		if n < u.size {
			continue
		}
		if n >= 100*u.size {
			return fmt.Sprintf("%.0f%s", n/u.size, u.unit)
		}
		return fmt.Sprintf("%.1f%s", n/u.size, u.unit)
	}
	return fmt.Sprint(d.Parameters)
}

// fileTypes are llama.cpp's names of what general.file_type numbers (llama_ftype in llama.h).
var fileTypes = map[int64]string{
	0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L",
	14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
	23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M",
	32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4", 39: "NVFP4", 40: "Q1_0", 41: "Q2_0",
}

// quantisation is what the file says its type is, else the type of most of its weights.
func quantisation(h *gguf.Header) string {
	if v := h.Values["general.file_type"]; v.Type == gguf.Uint32 {
		if name, known := fileTypes[v.Int(0)]; known {
			return name
		}
	}
	if types := WeightTypes(h); len(types) > 0 {
		return types[0].Type
	}
	return ""
}

// WeightType is the weights that are stored in one way.
type WeightType struct {
	Type    string `json:"type"`
	Tensors int    `json:"tensors"`
	Bytes   uint64 `json:"bytes"`
}

// WeightTypes sorts the weights of a model by type, most bytes first.
func WeightTypes(h *gguf.Header) []WeightType {
	byType := map[gguf.TensorType]*WeightType{}
	for _, t := range h.Tensors {
		if byType[t.Type] == nil {
			byType[t.Type] = &WeightType{Type: t.Type.String()}
		}
		byType[t.Type].Tensors++
		byType[t.Type].Bytes += t.Size()
	}
	var list []WeightType
	for _, w := range slices.Collect(maps.Values(byType)) {
		list = append(list, *w)
	}
	slices.SortFunc(list, func(a, b WeightType) int {
		if a.Bytes != b.Bytes {
			if a.Bytes > b.Bytes {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Type, b.Type)
	})
	return list
}

// projectorPrefix begins the names of projector files, with which models see and hear.
const projectorPrefix = "mmproj"

// IsProjector reports whether a file is a projector by its name.
func IsProjector(file string) bool {
	base := filepath.Base(file)
	return strings.HasPrefix(base, projectorPrefix) && strings.HasSuffix(base, ending)
}

// ProjectorName is what the projector of a model is called that lies in a folder with others.
func ProjectorName(model string) string { return projectorPrefix + "-" + model + ending }

// ProjectorOf is the path of the projector that lies beside the first file of a model:
// mmproj-NAME.gguf, or any mmproj*.gguf where the model has its folder for itself. Empty: there is
// none.
func ProjectorOf(path string) string {
	folder := filepath.Dir(path)
	n, ok := SplitName(filepath.Base(path))
	if !ok {
		return ""
	}
	own := filepath.Join(folder, ProjectorName(n.Model))
	if info, err := os.Stat(own); err == nil && info.Mode().IsRegular() {
		return own
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ""
	}
	var found []string
	for _, e := range entries {
		other, ok := SplitName(e.Name())
		switch {
		case !ok || e.IsDir():
		case IsProjector(e.Name()):
			found = append(found, e.Name())
		case other.Model != n.Model:
			return ""
		}
	}
	if len(found) == 0 {
		return ""
	}
	return filepath.Join(folder, BestProjector(found))
}

// Projector is what the header of a projector file says, which is read only once while the file
// stays as it is. It fails as gguf.CheckProjector does.
func (l *Library) Projector(path string) (gguf.Projector, error) {
	info, err := os.Stat(path)
	if err != nil {
		return gguf.Projector{}, err
	}
	if !info.Mode().IsRegular() {
		return gguf.Projector{}, fmt.Errorf("%s is not a file", path)
	}
	stamp := fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.projectors[path]; ok && r.stamp == stamp {
		return r.projector, r.err
	}
	file, err := os.Open(path)
	if err != nil {
		return gguf.Projector{}, err
	}
	defer file.Close()
	r := projectorReading{stamp: stamp}
	r.projector, r.err = gguf.CheckProjector(file, info.Size())
	l.projectors[path] = r
	return r.projector, r.err
}

// projectorReading is what was read of a projector whose file had this time and length.
type projectorReading struct {
	stamp     string
	projector gguf.Projector
	err       error
}

// bestProjectors are the types of weights that are taken first: those of 16 bits lose nothing, and
// every processor computes with them.
var bestProjectors = []*regexp.Regexp{regexp.MustCompile(`(?i)(^|[-._])f16[-.]`), regexp.MustCompile(`(?i)[-._]q8_0[-.]`)}

// BestProjector is the one to use of several projectors of a model, by their names.
func BestProjector(names []string) string {
	names = slices.Sorted(slices.Values(names))
	for _, pattern := range bestProjectors {
		if i := slices.IndexFunc(names, pattern.MatchString); i >= 0 {
			return names[i]
		}
	}
	return names[0]
}
