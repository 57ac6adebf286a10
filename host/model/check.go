// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
)

// CheckOptions say where models and notes of their trials lie and what a model may take.
type CheckOptions struct {
	Folder   string // of models; empty: library.DefaultFolder
	CacheDir string // empty: DefaultCache; what is written there is the user's alone
	// Memory is how many bytes the weights may take where no GPU holds some of them; 0: what the
	// system has available.
	Memory uint64
	// Kernels of the CPU that go first; empty: Penstock's.
	Kernels native.KernelChoice
	// Broken are kernels that other models of this process have come across. The kernels in use
	// are the same for all models.
	Broken []BrokenKernel
	// GPULayers are those that serving will put on GPUs; negative: all. They are tried there too,
	// by Open.
	GPULayers int
	// Workers says that devices of other machines will hold weights. The trial goes without.
	Workers bool
	// Loading and Computing are the other options of serving, which the trials have too, but for
	// sizes.
	Loading   native.ModelOptions
	Computing native.ContextOptions
	// Template replaces the model's chat template: Jinja, a file of it, or a name of llama.cpp's.
	// TemplateFile is a file of it in any case. Without either it is NAME.jinja beside NAME.gguf
	// if that is there.
	Template, TemplateFile string

	found *Template // by those two; nil: not yet
	gpus  []string  // that serving puts layers on
	// WhileServing says that other models answer requests meanwhile: then the trial has a low
	// priority.
	WhileServing bool
	// Timeout of the trial; 0: five minutes, and five seconds for each 20 MB.
	Timeout time.Duration
	// Trying is called when a trial begins, which takes some passes over the weights; nil is fine.
	Trying func()
}

func (o CheckOptions) withDefaults() CheckOptions {
	if o.Folder == "" {
		o.Folder = library.DefaultFolder()
	}
	if o.CacheDir == "" {
		o.CacheDir = DefaultCache()
	}
	if o.Kernels == "" {
		o.Kernels = native.ChoosePenstock
	}
	if o.Memory == 0 {
		o.Memory = AvailableMemory()
	}
	return o
}

// Check makes sure that llama.cpp can load the file and compute with it, without risk to this
// process: the header is checked first, then a child process loads the file, does with it what
// serving will do and renders a conversation. What the model cannot do but can be served without
// is returned. What passed is remembered in the cache folder until the file or this program
// changes, so that only the first start takes longer.
//
// The errors wrap a sentinel of this package, of package gguf, or of io/fs for what cannot be
// read. While a process is itself such a child, and where the program does not have the command of
// Child, the error is ErrNoChild.
func Check(ctx context.Context, path string, o CheckOptions) (Lacks, error) {
	o = o.withDefaults()
	template, err := o.template(path)
	if err != nil {
		return nil, err
	}
	file, err := inspect(path)
	if err != nil {
		return nil, err
	}
	with := o.onCPU()
	if file, err = file.withHead(with.Loading); err != nil {
		return nil, err
	}
	if o.Memory > 0 && file.weights > o.Memory {
		switch {
		case o.Workers: // the pages of the file come and go, which takes as long as reading it some times
			with.Loading.LoadMode, with.Loading.NoRepack, o.Memory = "mmap", true, 0
		case len(o.gpus) == 0:
			return nil, fmt.Errorf("%w: the weights of %s take %s, available are %s; use a smaller or more strongly quantised model",
				ErrTooLarge, path, size(file.weights), size(o.Memory))
		default:
			with, o.Memory = o.onGPU(), 0 // as it will be served, for the CPU alone cannot; whether that fits is found out before it is loaded
		}
	}
	note := noteFor(o.CacheDir, file, template.Source, with.key())
	if lacks, passed := note.read(); passed {
		return lacks, nil
	}
	o.Timeout = file.timeout(o)
	if o.Trying != nil {
		o.Trying()
	}
	lacks, err := tryInChildren(ctx, path, template, with, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	note.write(path, lacks)
	return lacks, nil
}

// withHead adds the inspection of the head that is loaded with the model.
func (in *inspection) withHead(o native.ModelOptions) (*inspection, error) {
	if !o.LoadMTP || o.Head == "" {
		return in, nil
	}
	head, err := inspect(o.Head)
	if err != nil {
		return nil, err
	}
	both := *in
	both.parts, both.headers = slices.Concat(in.parts, head.parts), slices.Concat(in.headers, head.headers)
	both.weights += head.weights
	return &both, nil
}

// timeout of a trial of the file: several times what it takes on a slow machine, since other
// programs may have the processors.
func (in *inspection) timeout(o CheckOptions) time.Duration {
	if o.Timeout > 0 {
		return o.Timeout
	}
	return 5 * (time.Minute + time.Duration(in.weights/20e6)*time.Second)
}

// tryInChildren tries a file in one child after the other. If an exercise crashes a child, the
// next one leaves it out.
func tryInChildren(ctx context.Context, path string, template Template, with options, o CheckOptions) (Lacks, error) {
	var lacks Lacks
	for {
		found, stage, err := tryInChild(ctx, path, lacks, template, with, o)
		if !errors.Is(err, ErrCrashed) || !isExercise(stage) || lacks.Has(stage) {
			return found, err
		}
		lacks = append(lacks, Lack{stage, err.Error()})
	}
}

// tryInChild starts a child for one trial and tells what it did last.
func tryInChild(ctx context.Context, path string, lacks Lacks, template Template, with options, o CheckOptions) (_ Lacks, stage string, err error) {
	p, err := startChild(ctx, o.Memory)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if o.WhileServing {
		lowerPriority(p.cmd)
	}
	lacks, err = p.tryModel(ctx, request{Path: path, Lacks: lacks, Template: template, Timeout: o.Timeout, options: with})
	return lacks, p.stage, err
}

// inspection is what the headers of a model's files say.
type inspection struct {
	parts   []string // paths
	weights uint64   // bytes
	// headers are the bytes in front of the weights, of all parts.
	headers []byte
	types   map[native.Operation]bool // of the weights
	whole   *gguf.Header              // of the first part, with the tensors of all
}

// inspect checks the headers of a file and of the other parts of its model.
func inspect(path string) (*inspection, error) {
	in := &inspection{types: map[native.Operation]bool{}}
	h, err := in.read(path, gguf.Check)
	if err != nil {
		return nil, err
	}
	in.whole = h
	others, err := otherParts(path, h)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i, other := range others {
		h, err := in.read(other, gguf.Read)
		if err != nil {
			return nil, err
		}
		if v := h.Values["split.no"]; v.Type != gguf.Uint16 || v.Int(0) != int64(i+1) {
			return nil, fmt.Errorf("%s: %w: it is not part %d of its model", other, gguf.ErrMalformed, i+2)
		}
		in.whole.Tensors = append(in.whole.Tensors, h.Tensors...)
	}
	return in, nil
}

// read reads one part with gguf.Check or gguf.Read.
func (in *inspection) read(path string, read func(io.ReaderAt, int64) (*gguf.Header, error)) (*gguf.Header, error) {
	file, length, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h, err := read(file, length)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	header := make([]byte, min(h.DataOffset, length))
	if _, err := file.ReadAt(header, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	in.parts = append(in.parts, path)
	in.weights += h.TensorBytes()
	in.headers = append(in.headers, header...)
	for _, t := range h.Tensors {
		if len(t.Dims) > 1 { // what is a vector is multiplied with nothing
			in.types[native.Operation(t.Type)] = true
		}
	}
	return h, nil
}

// openRegular opens a file and refuses what is none before opening it could block, as on a pipe.
func openRegular(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, fmt.Errorf("%w: %s does not exist; %s", ErrNotFound, path, library.Advice(stem(path), library.Stems(filepath.Dir(path))))
	case err != nil:
		return nil, 0, fmt.Errorf("the model cannot be read: %w", err)
	case info.IsDir():
		return nil, 0, fmt.Errorf("%w: %s is a folder; %s", ErrNotFile, path, library.Advice("", library.Stems(path)))
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%w: %s is a device or a pipe, a model must be a file", ErrNotFile, path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("the model cannot be read: %w", err)
	}
	return file, info.Size(), nil
}

// stem is the name of a path's file without .gguf.
func stem(path string) string { return strings.TrimSuffix(filepath.Base(path), ".gguf") }

// size writes bytes for a person.
func size(n uint64) string {
	const gib = 1 << 30
	if n < gib {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/gib)
}

// DefaultCache is the cache folder unless configured: penstock in the user's cache folder. It is
// empty where the system names none.
func DefaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "penstock")
}

// otherParts returns the paths of parts 2, 3, ... of a model whose first part is path: llama.cpp
// finds them by name. The header is one that gguf.Check has passed.
func otherParts(path string, h *gguf.Header) ([]string, error) {
	n := h.Splits()
	if n == 1 {
		return nil, nil
	}
	ending := fmt.Sprintf("-00001-of-%05d.gguf", n)
	prefix, ok := strings.CutSuffix(path, ending)
	if !ok {
		return nil, fmt.Errorf("%w: it is one of %d files of its model, so its name must end in %s", gguf.ErrUnsupported, n, ending)
	}
	var others []string
	for i := 2; i <= n; i++ {
		others = append(others, fmt.Sprintf("%s-%05d-of-%05d.gguf", prefix, i, n))
	}
	return others, nil
}

// trialNote is the path of a file whose existence says that a model has passed its trial, and
// without what. It is empty where nothing can be noted. Only passing is noted: a failure may be
// due to the moment, such as a lack of memory, and trying a bad file again hurts nobody.
type trialNote string

// noteFor names a note after everything the trial depends on: sizes and times of the model's
// files, their headers, this program, the kernels it uses and the level of the CPU that they are
// for, and more for a trial on a GPU.
func noteFor(cacheDir string, in *inspection, more ...any) trialNote {
	program, err := os.Executable()
	if err != nil || cacheDir == "" {
		return ""
	}
	hash := sha256.New()
	for _, path := range append([]string{program}, in.parts...) {
		info, err := os.Stat(path)
		if err != nil {
			return ""
		}
		fmt.Fprintf(hash, "%d %d\n", info.Size(), info.ModTime().UnixNano())
	}
	hash.Write(in.headers)
	stamp, _ := native.Build()
	fmt.Fprintln(hash, native.KernelsInUse(), stamp)
	if len(more) > 0 {
		fmt.Fprintf(hash, "%q\n", more)
	}
	return trialNote(filepath.Join(cacheDir, "verdicts", hex.EncodeToString(hash.Sum(nil)[:16])))
}

// noteContent is what the file holds.
type noteContent struct {
	Path  string `json:"path"` // of the model, for people
	Lacks Lacks  `json:"lacks,omitempty"`

	Projector *ProjectorTrial `json:"projector,omitempty"` // of the trial of one; nil: it was none
}

// read reports whether the model has passed, and without what.
func (n trialNote) read() (lacks Lacks, passed bool) {
	content, passed := n.content()
	return content.Lacks, passed
}

// content reads the whole note; without one, passed is false.
func (n trialNote) content() (content noteContent, passed bool) {
	if n == "" {
		return content, false
	}
	data, err := os.ReadFile(string(n))
	if err != nil || json.Unmarshal(data, &content) != nil {
		return noteContent{}, false // damaged: it is written again
	}
	return content, true
}

// write notes that a model has passed. Without the note the next start tries the file again,
// nothing else.
func (n trialNote) write(model string, lacks Lacks) { n.keep(noteContent{Path: model, Lacks: lacks}) }

// keep writes a note with all that its trial found.
func (n trialNote) keep(content noteContent) {
	if n == "" {
		return
	}
	if data, err := json.Marshal(content); err == nil {
		_ = writeFile(string(n), data)
	}
}

// remove has the next start try the model again.
func (n trialNote) remove() {
	if n != "" {
		_ = os.Remove(string(n)) // it may not be there
	}
}

// CheckAdapter makes sure that llama.cpp can load a LoRA adapter for a model and compute with
// both, without risk to this process: the header is compared with the model's, then a child
// process computes with it. What passed is remembered as Check does.
//
// The errors are those of Check, and gguf.ErrAdapter.
func CheckAdapter(ctx context.Context, model, path string, o CheckOptions) (gguf.Adapter, error) {
	o = o.withDefaults()
	in, err := inspect(model)
	if err != nil {
		return gguf.Adapter{}, err
	}
	adapter, err := in.readAdapter(path)
	if err != nil {
		return adapter, err
	}
	o.Timeout = in.timeout(o)
	note := noteFor(o.CacheDir, in, adapterTask, o.onCPU().key())
	if _, passed := note.read(); passed {
		return adapter, nil
	}
	if o.Trying != nil {
		o.Trying()
	}
	p, err := startChild(ctx, o.Memory)
	if err != nil {
		return adapter, err
	}
	_, err = p.ask(ctx, request{Task: adapterTask, Path: model, Adapter: path, Timeout: o.Timeout, options: o.onCPU()})
	if err = errors.Join(err, p.close()); err != nil {
		return adapter, fmt.Errorf("%s: %w", path, err)
	}
	note.write(path, nil)
	return adapter, nil
}

// readAdapter checks the header of an adapter against the model's, and adds it to what the note of
// the trial is named after.
func (in *inspection) readAdapter(path string) (adapter gguf.Adapter, err error) {
	file, length, err := openRegular(path)
	if err != nil {
		return adapter, err
	}
	defer file.Close()
	if adapter, err = gguf.CheckAdapter(file, length, in.whole); err != nil {
		return adapter, fmt.Errorf("%s: %w", path, err)
	}
	header := make([]byte, min(length-int64(adapter.Bytes), length))
	if _, err := file.ReadAt(header, 0); err != nil {
		return adapter, fmt.Errorf("%s: %w", path, err)
	}
	in.parts, in.headers, in.weights = append(in.parts, path), append(in.headers, header...), in.weights+adapter.Bytes
	return adapter, nil
}

// tryAdapter computes with a model and an adapter what serving will: a prompt and a token, with
// several sequences in a pass.
func tryAdapter(model, path string, o options) (err error) {
	m, err := native.LoadModel(context.Background(), model, o.Loading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	a, err := native.LoadAdapter(m, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	c, err := native.NewContext(m, o.context(native.ContextOptions{Cells: 64, Batch: 32, Sequences: 2, Unified: true, Threads: native.Threads(m.Info().Size)}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.SetAdapters([]native.ScaledAdapter{{Adapter: a, Scale: 1}}); err != nil {
		return err
	}
	var b native.Batch
	for i := range promptLen {
		b.Add(int32(1+i)%int32(m.Info().Vocabulary), int32(i), 0, i == promptLen-1)
	}
	for at := range int32(2) {
		if err := c.Decode(&b); err != nil {
			return err
		}
		if slices.ContainsFunc(c.Row(0), func(x float32) bool { return math.IsNaN(float64(x)) }) {
			return errors.New("with this adapter the model computes what is not a number")
		}
		b.Reset()
		b.Add(1, promptLen+at, 0, true)
		b.Add(1, at, 1, true)
	}
	return nil
}

// FindAdapter returns the path of the file of that name in the model folder, which holds adapters
// as well as models: a name, not a path.
func FindAdapter(name string, o CheckOptions) (string, error) {
	o = o.withDefaults()
	name = strings.TrimSuffix(name, ".gguf")
	if path := library.Find(o.Folder, name); path != "" {
		return path, nil
	}
	return "", fmt.Errorf("%w: %q is no name in the model folder %s; %s", ErrNotFound, name, o.Folder, library.Advice(name, library.Stems(o.Folder)))
}
