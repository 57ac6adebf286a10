// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
)

// identity tells what computes the cells of this engine, across processes.
type identity struct {
	options   Options
	positions int // of a conversation
	ofModel   func() (string, error)

	mu       sync.Mutex
	adapters map[uint64]string // the files of those that are open, by their numbers
}

func newIdentity(o Options) *identity {
	i := &identity{options: o, adapters: map[uint64]string{}}
	i.ofModel = sync.OnceValues(i.model)
	return i
}

// model is a digest of the model's files, of the control vectors, and of what else decides what
// cells hold.
func (i *identity) model() (string, error) {
	sum := sha256.New()
	v := i.options.ControlVectors
	var files []ControlVector
	for _, path := range i.options.files() {
		files = append(files, ControlVector{Path: path})
	}
	for _, f := range append(files, v.Vectors...) {
		digest, err := digestOf(f.Path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s:%x ", digest, f.Scale)
	}
	fmt.Fprintf(sum, "%d-%d llama.cpp %s;%s", v.First, v.Last, native.Version(), i.options.computedWith())
	for _, path := range i.options.files() { // in any of them, the first may have no tensors
		if long, err := changesWithContext(path); err != nil {
			return "", err
		} else if long {
			fmt.Fprintf(sum, ";%d positions", i.positions)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// files are the paths of all files of the model.
func (o Options) files() []string {
	if len(o.Parts) > 0 {
		return o.Parts
	}
	return []string{o.Path}
}

// changesWithContext reports whether a file of a model has two sets of rotations (LongRoPE):
// llama.cpp takes the one or the other by the length of the context.
func changesWithContext(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return false, err
	}
	h, err := gguf.Read(f, stat.Size())
	if err != nil {
		return false, nil //nolint:nilerr // a file that llama.cpp has loaded, as a test's
	}
	return slices.ContainsFunc(h.Tensors, func(t gguf.Tensor) bool { return strings.Contains(t.Name, "rope_factors_long") }), nil
}

// computedWith names the options that change what cells hold; empty: none does.
func (o Options) computedWith() string {
	var list []string
	for _, override := range o.Model.KVOverrides {
		list = append(list, fmt.Sprintf("%s=%s:%s", override.Key, override.Type, override.Value))
	}
	if r := o.Context.Rope; r != (native.Rope{}) {
		list = append(list, fmt.Sprint("rope ", r.Scaling, r.FreqBase, r.FreqScale))
		if r.YaRN != nil {
			list = append(list, fmt.Sprint("YaRN ", *r.YaRN))
		}
	}
	if k, v := cmp.Or(o.Context.TypeK, "f16"), cmp.Or(o.Context.TypeV, "f16"); k != "f16" || v != "f16" {
		list = append(list, k+" "+v)
	}
	list = append(list, "flash attention "+cmp.Or(o.Context.FlashAttention, "auto"))
	if o.Context.FullWindowCache {
		list = append(list, "full windows")
	}
	if off := os.Getenv("LLAMA_ATTN_ROT_DISABLE"); off != "" { // which llama.cpp reads; a state does not tell
		list = append(list, "rotation off: "+off)
	}
	return strings.Join(list, ";")
}

// digestOf tells files of weights apart by their size, beginning and end, and by samples at even
// distances: of models that were tuned in some layers alone, both ends are often the same. To read
// all of one would take long.
func digestOf(path string) (string, error) {
	const part, samples, sample = 1 << 20, 256, 4 << 10
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, stat.Size())
	for _, at := range []int64{0, max(0, stat.Size()-part)} {
		if _, err := io.Copy(sum, io.NewSectionReader(f, at, part)); err != nil {
			return "", err
		}
	}
	for n := range int64(samples) {
		if _, err := io.Copy(sum, io.NewSectionReader(f, stat.Size()/samples*n, sample)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// Identity is the same for engines whose cells are computed alike, in any process, by the model
// and its control vectors. Files are read the first time.
func (e *Engine) Identity() (string, error) { return e.identity.ofModel() }

// StateIdentity is the same for engines of which each can restore the states of the others: their
// cells are computed alike, and lie in caches of the same layout.
func (e *Engine) StateIdentity() (string, error) {
	model, err := e.Identity()
	c := e.identity.options.ContextOptions(e.info.ModelInfo)
	return fmt.Sprintf("%s %v %d %d", model, c.Unified, c.Sequences, c.Snapshots), err
}

// AdapterFiles turns the key of adapters, which this process alone knows, into one that names
// their files.
func (e *Engine) AdapterFiles(key string) (string, error) {
	return e.identity.translate(key, func(number string) (string, bool) {
		n, err := strconv.ParseUint(number, 10, 64)
		file, found := e.identity.adapters[n]
		return file, err == nil && found
	})
}

// AdapterKey is the reverse of AdapterFiles. It fails if an adapter is not loaded. Of several from
// the same file it takes the one that was loaded last: the others may have been unloaded, and stay
// here until the last request is done with them.
func (e *Engine) AdapterKey(files string) (string, error) {
	return e.identity.translate(files, func(file string) (string, bool) {
		last, found := uint64(0), false
		for number, name := range e.identity.adapters {
			if name == file {
				last, found = max(last, number), true
			}
		}
		return strconv.FormatUint(last, 10), found
	})
}

var errAdapterGone = errors.New("it was computed with a LoRA adapter that is not loaded")

// translate replaces the names of adapters before their scales, and orders them as Adapters does.
func (i *identity) translate(key string, other func(string) (string, bool)) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	fields := strings.Fields(key)
	for n, field := range fields {
		name, scale, _ := strings.Cut(field, ":")
		translated, found := other(name)
		if !found {
			return "", errAdapterGone
		}
		fields[n] = translated + ":" + scale + " "
	}
	slices.SortFunc(fields, func(a, b string) int { // numbers by their values
		x, y := strings.Index(a, ":"), strings.Index(b, ":")
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	})
	return strings.Join(fields, ""), nil
}

func (i *identity) add(number uint64, path string) error {
	digest, err := digestOf(path)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.adapters[number] = digest
	return err
}

func (i *identity) remove(number uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.adapters, number)
}

// OpenProjector loads the projector file at path for the model. The digest is the same for
// projectors that compute the same, in any process. Errors are those of native.OpenProjector, and
// ErrRemote where other machines compute the model.
func (e *Engine) OpenProjector(path string, o native.ProjectorOptions) (p *native.Projector, digest string, err error) {
	if e.weights != e.model {
		return nil, "", ErrRemote
	}
	file, err := digestOf(path)
	if err != nil {
		return nil, "", err
	}
	if p, err = native.OpenProjector(e.model, path, o); err != nil {
		return nil, "", err
	}
	if have, want := p.Info().Whole, e.backend.context.Limits(); have > want.Batch || have > want.UBatch {
		return nil, "", errors.Join(fmt.Errorf("%w: the projector makes up to %d embeddings that one pass computes, and passes have %d tokens; use --batch-size and --ubatch-size of %d",
			native.ErrInvalid, have, min(want.Batch, want.UBatch), have), p.Close())
	}
	return p, fmt.Sprintf("%s %d-%d", file, o.ImageMinTokens, o.ImageMaxTokens), nil
}
