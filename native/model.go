// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
// extern _Bool penstockProgress(float progress, uintptr_t user);
import "C"

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"runtime"
	"runtime/cgo"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// Model is a loaded model: its weights and its vocabulary. It is safe for concurrent use.
type Model struct {
	object
	info  ModelInfo
	meta  map[string]string // the file's scalar metadata, as text
	vocab vocabulary
	head  *Model // from a file of its own; nil: none
}

// ModelInfo describes a model.
type ModelInfo struct {
	Architecture string
	Name         string // general.name of the file; may be empty
	Parameters   uint64
	Size         uint64 // bytes of all tensors
	FileType     string // of most of the weights, by llama.cpp's name: Q4_0
	ContextTrain int    // positions the model was trained for
	Layers       int
	Window       int               // positions of the sliding window; 0 if there is none
	Sampling     map[string]string // the sampling parameters that the file brings, as texts by llama.cpp's names: temp, top_k
	ModelKind
	VocabularyInfo
	EmbeddingInfo
}

// ModelKind is how a model computes.
type ModelKind struct {
	Encoder   bool
	Decoder   bool
	Causal    bool // a token sees only those before it, as generation needs
	Recurrent bool // it keeps a state and no KV cache, so that a sequence cannot be truncated
	Hybrid    bool // some layers are recurrent
	Diffusion bool
	Head      bool // it has a head that guesses further tokens, see Head, which was loaded
}

// VocabularyInfo describes a model's vocabulary.
type VocabularyInfo struct {
	Vocabulary int  // tokens
	VocabType  int  // llama_vocab_type
	AddBOS     bool // a prompt begins with the token BOS
	AddEOS     bool // and ends with EOS
	AddSEP     bool // and SEP stands between two texts
	Special    SpecialTokens
}

// EmbeddingInfo describes what a model takes and gives besides tokens.
type EmbeddingInfo struct {
	Embedding    int // width of the residual stream
	EmbeddingIn  int // width of an embedding that a pass takes in place of a token; most often the same
	EmbeddingOut int // width of its embeddings; most often the same
	Pooling      Pooling
	Classes      []string // what each score of its classifier means; "" where it does not say
}

// Generates reports whether the model writes text token by token. Others look ahead, fill in
// masks, answer an encoder, speak, or serve another model.
func (i ModelInfo) Generates() bool {
	return i.Decoder && !i.Encoder && !i.Diffusion && i.Causal && !textless[i.Architecture]
}

// textless are architectures that look to llama.cpp like those that write text. The tokens of some
// are sounds, embedders forget what they have read, and drafters need the model for which they
// draft.
var textless = map[string]bool{"qwen3tts": true, "pockettts": true, "wavtokenizer-dec": true, "llama-embed": true, "gemma-embedding": true, "gemma4-assistant": true}

// OwnCells reports whether each sequence can have KV cells of its own. A pass over such cells
// needs padding tokens, which are removed after it; a recurrent state or a sliding window that has
// moved on does not allow that.
func (i ModelInfo) OwnCells() bool { return !i.Recurrent && !i.Hybrid && i.Window == 0 }

// SpecialTokens names tokens by their role; -1 where the vocabulary has none.
type SpecialTokens struct {
	BOS, EOS, EOT, SEP, Newline int32

	// Fill in the middle: they stand before the text that precedes the gap, before the text that
	// follows it, and before what fills it; before the name of a repository and before that of
	// each file.
	FIMPrefix, FIMSuffix, FIMMiddle, FIMRepository, FIMSeparator int32
}

// Info describes the model. It can be asked after Close too.
func (m *Model) Info() ModelInfo { return m.info }

// TokensAtOnce is how many tokens of a pass the kernels of most of the model's weights compute at
// once: 4 for ggml's on the CPU, which compute groups of four and the rest one by one. It is 1 for
// Penstock's, which compute tokens one by one, for AMX, where two to sixteen take the same time, so
// that adding some gains nothing, and for GPUs.
func (m *Model) TokensAtOnce() int {
	if m.enter() != nil {
		return 1
	}
	defer m.leave()
	return int(C.ps_model_tokens_at_once(m.c()))
}

// ChatTemplate is the source of the template called name, "" for the default; empty if the model
// has none.
func (m *Model) ChatTemplate(name string) (string, error) {
	if err := m.enter(); err != nil {
		return "", err
	}
	defer m.leave()
	cname := C.CString(name)
	defer freeString(cname)
	var e C.ps_error
	var text C.ps_text
	if err := failure(C.ps_model_template(m.c(), cname, &text, &e), &e); err != nil {
		return "", err
	}
	return takeText(&text), nil
}

// samplingOf are the entries of general.sampling.
func samplingOf(meta map[string]string) map[string]string {
	own := map[string]string{}
	for key, value := range meta {
		if name, is := strings.CutPrefix(key, "general.sampling."); is {
			own[name] = value
		}
	}
	return own
}

// describe reads everything about the model that never changes, and its vocabulary if it has one.
func (m *Model) describe(vocabulary bool) error {
	var e C.ps_error
	var c C.ps_model_info
	if err := failure(C.ps_model_describe(m.c(), &c, &e), &e); err != nil {
		return err
	}
	meta, err := readMetadata(m.c(), int(c.metadata))
	if err != nil {
		return err
	}
	m.meta = meta
	m.vocab.kind = int(c.vocabulary_type)
	m.info = ModelInfo{
		Architecture: meta["general.architecture"],
		Name:         meta["general.name"],
		Parameters:   uint64(c.parameters),
		Size:         uint64(c.size),
		FileType:     C.GoString(&c.file_type[0]),
		ContextTrain: int(c.context_train),
		Layers:       int(c.layers),
		Window:       int(c.window),
		Sampling:     samplingOf(meta),
		ModelKind: ModelKind{
			Encoder:   bool(c.encoder),
			Decoder:   bool(c.decoder),
			Causal:    meta[meta["general.architecture"]+".attention.causal"] != "false",
			Recurrent: bool(c.recurrent),
			Hybrid:    bool(c.hybrid),
			Diffusion: bool(c.diffusion),
			Head:      bool(c.head),
		},
		VocabularyInfo: VocabularyInfo{
			Vocabulary: int(c.vocabulary),
			VocabType:  int(c.vocabulary_type),
			AddBOS:     bool(c.add_bos),
			AddEOS:     bool(c.add_eos),
			AddSEP:     bool(c.add_sep),
			Special: SpecialTokens{BOS: int32(c.bos), EOS: int32(c.eos), EOT: int32(c.eot), SEP: int32(c.sep), Newline: int32(c.newline),
				FIMPrefix: int32(c.fim_prefix), FIMSuffix: int32(c.fim_suffix), FIMMiddle: int32(c.fim_middle),
				FIMRepository: int32(c.fim_repository), FIMSeparator: int32(c.fim_separator)},
		},
		EmbeddingInfo: EmbeddingInfo{
			Embedding:    int(c.embedding),
			EmbeddingIn:  int(c.embedding_in),
			EmbeddingOut: int(c.embedding_out),
			Pooling:      poolingOf(meta),
			Classes:      make([]string, c.classes),
		},
	}
	for i := range m.info.Classes {
		var label C.ps_text
		if err := failure(C.ps_model_class(m.c(), C.int32_t(i), &label, &e), &e); err != nil {
			return err
		}
		m.info.Classes[i] = takeText(&label)
	}
	if !vocabulary {
		return nil
	}
	return m.vocab.load(m.c(), m.info.Vocabulary)
}

func readMetadata(c *C.ps_model, n int) (map[string]string, error) {
	meta := make(map[string]string, n)
	for i := range n {
		var e C.ps_error
		var key, value C.ps_text
		if err := failure(C.ps_model_metadata(c, C.int32_t(i), &key, &value, &e), &e); err != nil {
			C.ps_text_free(&key)
			return nil, err
		}
		meta[takeText(&key)] = takeText(&value)
	}
	return meta, nil
}

func (m *Model) c() *C.ps_model { return (*C.ps_model)(m.h.c) }

// LoadModel loads a GGUF file. It stops soon after ctx is done. If the file is at fault the error
// is ErrNotFound, ErrNotGGUF, ErrUnsupported, ErrTooLarge or ErrBadModel and carries the reason;
// if the options are, ErrInvalid.
//
// llama.cpp aborts the process on some damaged files: check an unknown file first, as package
// host/model does.
func LoadModel(ctx context.Context, path string, o ModelOptions) (*Model, error) {
	return openModel(ctx, path, o, false)
}

func openModel(ctx context.Context, path string, o ModelOptions, dry bool) (*Model, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("load %s: %w: %w", path, ErrCancelled, context.Cause(ctx))
	}
	if err := checkFile(path); err != nil {
		return nil, err
	}
	c, err := loadModel(ctx, path, o, dry)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	m := &Model{}
	m.own(unsafe.Pointer(c), nil, func() { C.ps_model_free(c) })
	if err := m.describe(!dry); err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	if o.LoadMTP && o.Head != "" {
		if m.head, err = m.loadHead(ctx, o, dry); err != nil {
			_ = m.Close()
			return nil, fmt.Errorf("the head of %s: %w", path, err)
		}
		m.info.Head = true
	}
	return m, nil
}

// loadHead loads the model that is the head of this one.
func (m *Model) loadHead(ctx context.Context, o ModelOptions, dry bool) (*Model, error) {
	path := o.Head
	o.Head, o.KVOverrides, o.TensorOverrides, o.Progress = "", nil, nil, nil // those are of the model
	head, err := openModel(ctx, path, o, dry)
	if err != nil {
		return nil, err
	}
	if !bool(C.ps_model_is_head_for(head.c(), m.c())) {
		err = fmt.Errorf("%w: %s (%s) is no head for a model like this (%s)", ErrUnsupported, path, head.info.Architecture, m.info.Architecture)
	}
	for t := int32(0); !dry && err == nil && t < int32(m.info.Vocabulary); t++ {
		if a, b := head.SpecialPiece(t), m.SpecialPiece(t); a != b {
			err = fmt.Errorf("%w: token %d of %s is %q, that of the model %q", ErrUnsupported, t, path, a, b)
		}
	}
	if err != nil {
		return nil, errors.Join(err, head.Close())
	}
	return head, nil
}

// Close frees the model once nothing that was built on it is open. To close again is harmless.
func (m *Model) Close() error {
	err := m.object.Close()
	if m.head != nil { // after that nobody begins a context with it
		err = errors.Join(err, m.head.Close())
	}
	return err
}

func checkFile(path string) error {
	info, err := os.Stat(path) // before Open, which waits on a pipe
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNotFound, path)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadModel, err)
	}
	if info.IsDir() {
		return fmt.Errorf("%w: %s is a folder; name the .gguf file in it", ErrNotGGUF, path)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is no regular file", ErrNotGGUF, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadModel, err)
	}
	defer func() { _ = f.Close() }()
	var magic [4]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil || string(magic[:]) != "GGUF" {
		return fmt.Errorf("%w: %s (%d bytes) does not begin with GGUF", ErrNotGGUF, path, info.Size())
	}
	return nil
}

// progress is what the callback of a load needs.
type progress struct {
	ctx    context.Context
	report func(float32)
}

//export penstockProgress
func penstockProgress(done C.float, user C.uintptr_t) C._Bool {
	p := cgo.Handle(user).Value().(progress)
	if p.report != nil {
		p.report(float32(done))
	}
	return p.ctx.Err() == nil
}

func loadModel(ctx context.Context, path string, o ModelOptions, dry bool) (*C.ps_model, error) {
	cpath := C.CString(path)
	defer freeString(cpath)
	user := cgo.NewHandle(progress{ctx: ctx, report: o.Progress})
	defer user.Delete()

	var pin runtime.Pinner
	defer pin.Unpin()
	params, err := o.params(&pin)
	if err != nil {
		return nil, err
	}
	params.no_alloc = C._Bool(dry)
	var e C.ps_error
	var out *C.ps_model
	code := C.ps_model_load(cpath, &params, C.ps_progress_fn(C.penstockProgress), C.uintptr_t(user), &out, &e)
	err = failure(code, &e)
	switch {
	case errors.Is(err, ErrCancelled):
		return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
	case errors.Is(err, ErrNoMemory):
		return nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
	case errors.Is(err, ErrFailed):
		return nil, fmt.Errorf("%w: %w", ErrBadModel, err)
	case err != nil:
		return nil, err
	}
	return out, nil
}

// ModelOptions say how a model is loaded, as llama_model_params does. The zero value maps all of
// the file into main memory; where no zero is named, it is llama.cpp's default.
type ModelOptions struct {
	Devices         []string // names of Devices that compute besides the CPU, or "none"; nil: all GPUs, if GPULayers is not 0
	TensorOverrides []TensorOverride
	GPULayers       int       // layers to put on GPUs; negative: all; 0: none, and no GPU is asked for anything unless Devices names it
	SplitMode       string    // how several GPUs share the model: none, layer, row or tensor; "" is layer
	LoadMode        string    // auto, none, mmap, mlock, mmap+mlock or dio; "" is mmap
	LazyMode        string    // whether rows of large tensors are read when they are needed: off, auto or on; "" is auto
	MainGPU         int       // index in Devices: what has all of the model in split mode none, and what is not split in mode row
	TensorSplit     []float32 // share of each device; nil: by the memory that is free
	KVOverrides     []MetadataOverride
	VocabOnly       bool   // no weights: for tokenising and templates only
	CheckTensors    bool   // look for values that are not numbers
	NoRepack        bool   // leave weights in the file's layout, which fewer kernels compute with
	NoHost          bool   // keep weights of the CPU in its own memory, not in a GPU's host buffers
	LoadMTP         bool   // load the head that guesses further tokens, where there is one
	Head            string // GGUF file of a model that is nothing but a head for this one, and is loaded by LoadMTP; "": the head is in the model's own file
	// Progress is called on the loading goroutine with 0..1; nil is fine.
	Progress func(done float32) `json:"-"`
}

// TensorOverride keeps the tensors whose names a regular expression (ECMAScript) finds in a type
// of buffers, see Device.Buffer.
type TensorOverride struct{ Pattern, Buffer string }

// MetadataOverride has an entry of the file's metadata read as another value. Its type is int,
// float, bool or str.
type MetadataOverride struct{ Key, Type, Value string }

var (
	splitModes = map[string]C.int32_t{"none": 0, "layer": 1, "row": 2, "tensor": 3}
	loadModes  = map[string]C.int32_t{"auto": -1, "none": 0, "mmap": 1, "mlock": 2, "mmap+mlock": 3, "dio": 4}
	lazyModes  = map[string]C.int32_t{"off": 0, "auto": 1, "on": 2}
)

// choose finds a value by its name, without regard to case.
func choose(field, name, otherwise string, among map[string]C.int32_t) (C.int32_t, error) {
	if name == "" {
		name = otherwise
	}
	value, ok := among[strings.ToLower(name)]
	if !ok {
		return 0, fmt.Errorf("%w: %s %q; use %s", ErrInvalid, field, name, strings.Join(slices.Sorted(maps.Keys(among)), ", "))
	}
	return value, nil
}

// params is C's view of the options; the pinner keeps in place what it points to until the call
// has returned.
func (o ModelOptions) params(pin *runtime.Pinner) (p C.ps_model_params, err error) {
	for _, f := range []struct {
		field, name, otherwise string
		among                  map[string]C.int32_t
		to                     *C.int32_t
	}{
		{"split mode", o.SplitMode, "layer", splitModes, &p.split_mode},
		{"load mode", o.LoadMode, "mmap", loadModes, &p.load_mode},
		{"lazy mode", o.LazyMode, "auto", lazyModes, &p.lazy_mode},
	} {
		if *f.to, err = choose(f.field, f.name, f.otherwise, f.among); err != nil {
			return p, err
		}
	}
	if o.GPULayers > math.MaxInt32 || o.MainGPU > math.MaxInt32 || o.MainGPU < 0 {
		return p, fmt.Errorf("%w: %d GPU layers, main GPU %d; they must be up to %d, the GPU not negative", ErrInvalid, o.GPULayers, o.MainGPU, math.MaxInt32)
	}
	p.gpu_layers, p.main_gpu = C.int32_t(max(o.GPULayers, -2)), C.int32_t(o.MainGPU)
	p.vocab_only, p.check_tensors, p.no_repack = C._Bool(o.VocabOnly), C._Bool(o.CheckTensors), C._Bool(o.NoRepack)
	p.no_host, p.load_mtp, p.threads = C._Bool(o.NoHost), C._Bool(o.LoadMTP), C.int32_t(PhysicalCores())
	if n := len(o.TensorSplit); n > 0 {
		pin.Pin(&o.TensorSplit[0])
		p.tensor_split, p.n_tensor_split = (*C.float)(unsafe.Pointer(&o.TensorSplit[0])), C.size_t(n)
	}
	s := texts{pin: pin}
	s.devices(o.Devices, &p)
	s.tensorOverrides(o.TensorOverrides, &p)
	if err := s.metadataOverrides(o.KVOverrides, &p); err != nil {
		return p, err
	}
	return p, s.err
}

// texts makes texts into C's, which a zero byte ends.
type texts struct {
	pin *runtime.Pinner
	err error
}

func (t *texts) text(s string) *C.char {
	if strings.ContainsRune(s, 0) {
		t.err = fmt.Errorf("%w: %q has a zero byte in it", ErrInvalid, s)
	}
	b := append([]byte(s), 0)
	t.pin.Pin(&b[0])
	return (*C.char)(unsafe.Pointer(&b[0]))
}

func (t *texts) devices(names []string, p *C.ps_model_params) {
	if len(names) == 0 {
		return
	}
	list := make([]*C.char, len(names))
	for i, name := range names {
		list[i] = t.text(name)
	}
	t.pin.Pin(&list[0])
	p.devices = &list[0]
	if !slices.Equal(names, []string{"none"}) {
		p.n_devices = C.size_t(len(list))
	}
}

func (t *texts) tensorOverrides(overrides []TensorOverride, p *C.ps_model_params) {
	if len(overrides) == 0 {
		return
	}
	list := make([]C.ps_tensor_override, len(overrides))
	for i, o := range overrides {
		list[i].pattern, list[i].buffer = t.text(o.Pattern), t.text(o.Buffer)
	}
	t.pin.Pin(&list[0])
	p.tensor_overrides, p.n_tensor_overrides = &list[0], C.size_t(len(list))
}

func (t *texts) metadataOverrides(overrides []MetadataOverride, p *C.ps_model_params) error {
	if len(overrides) == 0 {
		return nil
	}
	list := make([]C.ps_metadata_override, len(overrides))
	for i, o := range overrides {
		c := &list[i]
		c.key = t.text(o.Key)
		var err error
		switch o.Type {
		case "int":
			c._type = 0
			c.integer, err = parsed[C.int64_t](strconv.ParseInt(o.Value, 10, 64))
		case "float":
			c._type = 1
			c.number, err = parsed[C.double](strconv.ParseFloat(o.Value, 64))
		case "bool":
			c._type = 2
			switch o.Value {
			case "true":
				c.integer = 1
			case "false":
			default:
				err = errors.New("neither true nor false")
			}
		case "str":
			c._type, c.text = 3, t.text(o.Value)
		default:
			err = fmt.Errorf("its type is none of int, float, bool and str")
		}
		if err != nil {
			return fmt.Errorf("%w: the metadata override %s=%s:%s: %w", ErrInvalid, o.Key, o.Type, o.Value, err)
		}
	}
	t.pin.Pin(&list[0])
	p.metadata_overrides, p.n_metadata_overrides = &list[0], C.size_t(len(list))
	return nil
}

func parsed[To, From int64 | float64 | C.int64_t | C.double](v From, err error) (To, error) {
	return To(v), err
}

// Weights are those of a model's weights that have one type and are computed by the same kernels.
type Weights struct {
	Type    Operation
	Kernels string // of a family, or the device's name
	Bytes   uint64
}

// Weights tells who computes products with the model's weights, most bytes first.
func (m *Model) Weights() ([]Weights, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.leave()
	var all [64]C.ps_weights
	var n C.size_t
	var e C.ps_error
	if err := failure(C.ps_model_weights(m.c(), &all[0], C.size_t(len(all)), &n, &e), &e); err != nil {
		return nil, err
	}
	out := make([]Weights, min(int(n), len(all)))
	for i := range out {
		w := &all[i]
		out[i] = Weights{Type: Operation(w._type), Bytes: uint64(w.bytes)}
		if w.family == C.PS_KERNELS_DEVICE {
			out[i].Kernels = C.GoString(&w.device[0])
		} else {
			out[i].Kernels = Family(w.family).String()
		}
	}
	return out, nil
}

// AttentionKernels tells which kernels have computed attention on the CPU since UseKernels:
// "penstock", "ggml", "penstock, ggml", or "" where nobody has yet.
func AttentionKernels() string {
	return [...]string{"", "penstock", "ggml", "penstock, ggml"}[C.ps_attention_computed_by()&3]
}

// Pooling is how the embeddings of a text's tokens become one. The numbers are those of model
// files.
type Pooling int

// The kinds of pooling.
const (
	PoolingUnspecified Pooling = iota - 1 // the file does not say
	PoolingNone                           // each token keeps its own
	PoolingMean
	PoolingCLS  // that of the first token
	PoolingLast // that of the last token
	PoolingRank // a classifier's scores in place of an embedding
)

// poolingOf reads what a model file says.
func poolingOf(meta map[string]string) Pooling {
	n, err := strconv.Atoi(meta[meta["general.architecture"]+".pooling_type"])
	if err != nil || n < int(PoolingNone) || n > int(PoolingRank) {
		return PoolingUnspecified
	}
	return Pooling(n)
}
