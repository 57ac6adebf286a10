// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/template"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
)

// Options say what to load and how much to serve at once. Zero values take the defaults named.
type Options struct {
	Path  string   // GGUF file
	Parts []string // all files of a model that is split, the first one too
	Name  string   // what clients call the model; "": the file's name without .gguf

	Slots          int    // answers generated at once; 0: 8
	CacheSequences int    // sequences kept beside them for prefixes of ended answers
	ContextSize    int    // KV cells in all; 0: what the model was trained for, for each slot, up to 32768
	Batch, UBatch  int    // 0: 2048, 512
	DraftRows      int    // drafted tokens that a pass can carry beside a token of each slot
	Snapshots      int    // drafted tokens of a slot that a recurrent model can drop, where llama.cpp knows how
	Threads        int    // 0: physical cores, fewer for a small model
	GPULayers      int    // negative: all; 0: no GPU computes anything
	KVLayout       string // shared: all sequences use the same cells; split: each has its own; auto or "": see Shared
	Lacks          Lacks  // what is not to be asked of the model
	Template       TemplateOptions
	ControlVectors ControlVectors
	// Model and Context are llama.cpp's further options. What Options says itself, such as
	// GPULayers, and what Open decides, is not looked at in them: of sizes only Context.Rows is,
	// where it is more than a row for each slot.
	Model   native.ModelOptions
	Context native.ContextOptions
	// A head guesses tokens if Model.LoadMTP is set and there is one: Model.Head, or in the model's
	// own file.
	// Progress is called with 0..1 while the weights load; nil is fine.
	Progress func(done float32)
	// Workers are the devices of other machines that compute; nil: only this machine's do.
	Workers Workers `json:"-"`
}

// Workers are devices of other machines.
type Workers interface {
	// Lost tells why they are gone; nil while they are there. What computes can be replaced then:
	// see Engine.Release.
	Lost() error
}

// Info describes the loaded model.
type Info struct {
	Name string
	native.ModelInfo
	Template    string // source of the chat template in use
	HasTemplate bool   // the model brought one

	ToolTemplate string          // source of the template for conversations with tools; "": the same
	TemplateCaps map[string]bool // what the template makes use of, by llama-server's names
	Thinks       bool            // the template has the model reason before it answers

	Limits  native.Limits    // its Positions are what one conversation may have: never more than the model was trained for
	Weights []native.Weights // by the kernels that compute with them
}

// Engine is a loaded model with its context. It is safe for concurrent use, its backend as the
// scheduler documents.
type Engine struct {
	model    *native.Model // what texts are made with
	weights  *native.Model // what computes: the same, unless it can be replaced
	context  *native.Context
	template *template.Template
	backend  *backend
	info     Info

	templateOptions TemplateOptions
	needs           *need // of conversations without tools
	needsWithTools  *need
	fences          sync.Map // by fenceKind: what takesFence has found
	grammars        grammars
	arranged        struct { // see tokens
		once sync.Once
		is   *grammar.Vocabulary
	}
	scratch  sync.Pool // of *scratch
	spelt    spellings
	identity *identity
}

const (
	defaultSlots = 8
	maxCells     = 32768
)

// MaxSequences is llama.cpp's bound on the sequences of a context: slots and cache sequences
// together.
const MaxSequences = 256

// Open loads a model and makes its context. It stops soon after ctx is done. Errors are those of
// native.LoadModel and native.NewContext, and ErrNotGenerating.
func Open(ctx context.Context, o Options) (*Engine, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	weights, err := native.LoadModel(ctx, o.Path, o.ModelOptions())
	if err != nil {
		return nil, err
	}
	text, err := o.textModel(ctx, weights)
	if err != nil {
		return nil, errors.Join(err, weights.Close())
	}
	e, err := open(text, weights, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("model %s: %w", o.Name, err), text.Close(), weights.Close())
	}
	return e, nil
}

func (o Options) withDefaults() (Options, error) {
	if o.Slots == 0 {
		o.Slots = defaultSlots
	}
	if o.Slots < 1 || o.CacheSequences < 0 || o.Slots+o.CacheSequences > MaxSequences {
		return o, fmt.Errorf("slots are %d with %d cache sequences: together they must be 1 to %d",
			o.Slots, o.CacheSequences, MaxSequences)
	}
	if o.Name == "" {
		o.Name = strings.TrimSuffix(filepath.Base(o.Path), ".gguf")
	}
	return o, nil
}

// ModelOptions are those with which Open loads the model.
func (o Options) ModelOptions() native.ModelOptions {
	m := o.Model
	m.GPULayers, m.Progress = o.GPULayers, o.Progress
	return m
}

// promptRows is how many rows a pass has for the log-probabilities of prompts, beside a token of
// each slot.
const promptRows = 32

// ContextOptions are those of the context that Open makes on the model.
func (o Options) ContextOptions(info native.ModelInfo) native.ContextOptions {
	threads := o.Threads
	if threads == 0 {
		threads = native.Threads(info.Size)
	}
	sequences := o.Slots
	if o.Shared(info) {
		sequences += o.CacheSequences
	}
	c := o.Context
	c.Cells, c.Batch, c.UBatch, c.Sequences, c.Rows = o.cells(info), o.Batch, o.UBatch, sequences, max(o.Slots+max(o.DraftRows, promptRows), c.Rows)
	if info.Recurrent || info.Hybrid {
		c.Snapshots = o.Snapshots
	}
	c.Threads, c.Poll, c.Unified, c.Output = threads, poll, o.Shared(info), native.Logits
	c.FeedsHead = info.Head && o.dropsGuesses(info, c.Snapshots) && o.Workers == nil && !o.Lacks.Heads
	return c
}

// dropsGuesses reports whether guessed tokens that turn out wrong can be dropped: cut off, or by
// going back to one of so many earlier states.
func (o Options) dropsGuesses(info native.ModelInfo, snapshots int) bool {
	drops := !o.Lacks.Truncating
	if info.Recurrent || info.Hybrid {
		drops = snapshots > 0
	}
	return drops && !o.Lacks.Together && !o.Lacks.Selecting
}

func (o Options) cells(info native.ModelInfo) int {
	return cmp.Or(o.ContextSize, DefaultCells(info.ContextTrain, o.Slots))
}

// DefaultCells is how many KV cells a model gets that was trained for so many tokens: for each
// slot as many, up to 32,768 in all.
func DefaultCells(contextTrain, slots int) int { return min(contextTrain*max(slots, 1), maxCells) }

// Shared reports whether all sequences use the same cells. On the CPU they do not: in cells of its
// own, a sequence is computed to the same bits whatever is computed beside it (see
// native/README.md). On a GPU, cells of its own save a sequence the attention to all others' cells,
// but they bound how long it gets: it has them where that is no longer than the model allows
// anyway. Workers share, since a prefix that is copied there would cross the network.
func (o Options) Shared(info native.ModelInfo) bool {
	switch {
	case o.KVLayout == "shared":
		return true
	case !info.OwnCells():
		return true
	case o.KVLayout == "split":
		return false
	}
	return o.Slots == 1 || o.onGPU() && !o.roomy(info)
}

// roomy reports whether cells of its own limit no sequence on a GPU.
func (o Options) roomy(info native.ModelInfo) bool {
	return o.Workers == nil && o.Context.Rope == native.Rope{} && info.ContextTrain > 0 && o.cells(info) >= o.Slots*info.ContextTrain
}

func open(text, weights *native.Model, o Options) (*Engine, error) {
	info := weights.Info()
	if !info.Generates() {
		return nil, ErrNotGenerating
	}
	own, err := text.ChatTemplate("")
	if err != nil {
		return nil, err
	}
	c, kernels, err := o.newContext(weights)
	if err != nil {
		return nil, err
	}
	limits := c.Limits()
	t, err := template.New(text, o.Template.Source)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if info.ContextTrain = limits.Trained; info.ContextTrain > 0 { // beyond it the model writes nonsense, whatever room the slots share
		limits.Positions = min(limits.Positions, info.ContextTrain)
	}
	head, err := o.newHead(c, info)
	if err != nil {
		return nil, errors.Join(err, t.Close(), c.Close())
	}
	e := &Engine{model: text, weights: weights, context: c, identity: newIdentity(o), template: t, templateOptions: o.Template.withDefaults(),
		backend: newBackend(text, c, info, limits, o)}
	e.backend.head = head
	e.identity.positions = c.Limits().Positions
	e.backend.checkpoints = e.backend.takesCheckpoints(info, o.Context.FullWindowCache)
	about := t.Info()
	e.info = Info{
		Name: o.Name, ModelInfo: info, Template: about.Source, ToolTemplate: about.ToolSource, TemplateCaps: about.Caps, Thinks: about.Thinks,
		HasTemplate: own != "", Limits: limits, Weights: kernels,
	}
	if e.info.Limits.HiddenState = e.backend.limits.HiddenState; e.info.Limits.HiddenState == 0 {
		e.info.Limits.StateLayers = 0
	}
	e.findNeeds()
	return e, nil
}

// newContext makes the context of a model and computes a first pass. It returns whose kernels
// compute.
func (o Options) newContext(weights *native.Model) (*native.Context, []native.Weights, error) {
	info := weights.Info()
	c, err := native.NewContext(weights, o.ContextOptions(info))
	if err != nil {
		return nil, nil, err
	}
	if !c.Limits().Memory {
		return nil, nil, errors.Join(ErrNotGenerating, c.Close())
	}
	if err := o.ControlVectors.use(c, info); err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	kernels, err := warm(weights, c)
	if err == nil && o.Workers != nil {
		err = o.Workers.Lost() // what was loaded and computed is nothing then
	}
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c, kernels, nil
}

// Info describes the loaded model.
func (e *Engine) Info() Info { return e.info }

// Threads is how many threads compute forward passes at present: fewer than there are while other
// programs take the processors.
func (e *Engine) Threads() int { return e.backend.context.Threads() }

// PassTimes are what all forward passes took since the weights were loaded: see native.PassTime.
func (e *Engine) PassTimes() (launch, wait, copied time.Duration) {
	t := e.backend.context.Spent()
	return t.Launch, t.Wait, t.Copy
}

// OnDevice reports whether forward passes compute on a GPU, or on other machines, and not with
// this machine's processors alone.
func (e *Engine) OnDevice() bool { return e.identity.options.onGPU() }

// Backend is the model as the scheduler drives it.
func (e *Engine) Backend() scheduler.Backend {
	if b := e.backend; !b.unified && !b.lacks.Together {
		return placing{b, layout{sequences: b.limits.Sequences}}
	}
	return e.backend
}

// Close aborts a running forward pass and frees everything. Chains made by the engine may be
// closed later.
func (e *Engine) Close() error {
	e.arranged.once.Do(func() {}) // it may be at work: it reads the model
	e.needs.close()
	e.needsWithTools.close()
	e.backend.close()
	return errors.Join(e.Release(), e.template.Close(), e.model.Close())
}

// warm computes one token and removes it again. So the weights are in memory before the first
// request, and it is known whose kernels compute. It returns the kernels of the weights.
func warm(m *native.Model, c *native.Context) ([]native.Weights, error) {
	var b native.Batch
	b.Add(0, 0, 0, true)
	if err := c.Decode(&b); err != nil {
		return nil, fmt.Errorf("the first pass: %w", err)
	}
	if err := c.Remove(0, -1, -1); err != nil {
		return nil, fmt.Errorf("taking back the first pass: %w", err)
	}
	return m.Weights()
}

// ErrNotGenerating refuses models that do not write text token by token: encoders, embedding,
// diffusion and speech models.
var ErrNotGenerating = errors.New("it does not generate text token by token (an encoder, embedding, diffusion or speech model); " +
	"choose a model that chats or completes, or serve this one with --embeddings or --reranking")

// asInvalid marks an error that llama.cpp finds in a parameter as a sampling.ErrInvalid, which the
// API knows.
func asInvalid(err error) error {
	if errors.Is(err, native.ErrInvalid) {
		return fmt.Errorf("%w: %w", sampling.ErrInvalid, err)
	}
	return err
}

// invalidText is a chat.ErrInvalidText in llama.cpp's own words.
type invalidText struct{ error }

func (e invalidText) Is(target error) bool { return target == chat.ErrInvalidText }
func (e invalidText) Unwrap() error        { return e.error }

// Devices of other machines can be lost, and with them all that was loaded there. The engine
// outlives that: the tokeniser, the template and the samplers of requests that wait use a model
// without weights (the text), and the model with weights and its context are replaced.

// ErrRemote refuses what would not outlive the loss of a worker.
var ErrRemote = errors.New("not for a model that workers compute; serve it without --rpc")

// asLost is a reason as a scheduler.ErrLost.
type asLost struct{ error }

func (e asLost) Is(target error) bool { return target == scheduler.ErrLost }
func (e asLost) Unwrap() error        { return e.error }

// AsLost marks why workers were lost, for Scheduler.Lose.
func AsLost(reason error) error { return asLost{reason} }

// textModel is what texts are made with: where weights can be lost a model of the same file
// without them.
func (o Options) textModel(ctx context.Context, weights *native.Model) (*native.Model, error) {
	if o.Workers == nil {
		return weights, nil
	}
	return native.LoadModel(ctx, o.Path, native.ModelOptions{VocabOnly: true, KVOverrides: o.Model.KVOverrides})
}

// Release frees the weights and the context. The scheduler must have lost its backend, or have
// ended.
func (e *Engine) Release() error {
	var err error
	if e.backend.head != nil {
		err = e.backend.head.Close()
	}
	err = errors.Join(err, e.context.Close())
	if e.weights != e.model {
		err = errors.Join(err, e.weights.Close())
	}
	return err
}

// Restore loads the weights again after Release, with other options or the same, and makes a
// context like the one before. It stops soon after ctx is done.
func (e *Engine) Restore(ctx context.Context, m native.ModelOptions, w Workers) error {
	o := e.identity.options
	o.Model, o.GPULayers, o.Workers = m, m.GPULayers, w
	if o.KVLayout = "split"; e.backend.unified {
		o.KVLayout = "shared"
	}
	weights, err := native.LoadModel(ctx, o.Path, o.ModelOptions())
	if err != nil {
		return err
	}
	c, _, err := o.newContext(weights)
	if err != nil {
		return errors.Join(err, weights.Close())
	}
	if have, want := c.Limits(), e.info.Limits; have.Cells != want.Cells || have.Batch != want.Batch || have.Sequences != want.Sequences || have.Rows != want.Rows {
		return errors.Join(fmt.Errorf("the model has now %d KV cells for %d sequences in place of %d for %d", have.Cells, have.Sequences, want.Cells, want.Sequences),
			c.Close(), weights.Close())
	}
	e.weights, e.context = weights, c
	e.backend.replace(c, w)
	return nil
}

// replace has the backend compute with another context, which is empty.
func (b *backend) replace(c *native.Context, w Workers) {
	b.context, b.workers, b.adapters = c, w, ""
	b.recurrent = newRollback(b.limits.Sequences, b.recurrent.snapshots)
	clear(b.stale)
	clear(b.borders)
}

// held returns the first position of seq that is in memory, and is what it should be, and how many
// positions it has.
func (b *backend) held(seq int32) (first, n int) {
	first, last, err := b.context.Range(seq)
	if err != nil || last < 0 {
		return 0, 0
	}
	if b.stale[seq] {
		first = max(first, 1)
	}
	if at := b.borders[seq]; int(at.last) == last {
		return first, max(last+1, at.next)
	}
	return first, last + 1
}

// cuttable reports whether seq can be continued at position n as if nothing after it had been: a
// recurrent state is only right at its end and at snapshots, and a sliding window must still hold
// all that position n looks back at.
func (b *backend) cuttable(seq int32, n int) bool {
	first, have := b.held(seq)
	switch {
	case n >= have: // where a model has recurrent layers too, first is that of their state, which is the last
		return n == have
	case !b.cuts: // the window still holds what the tokens before the pass look at
		return b.recurrent.reaches(seq, have-n)
	}
	return first <= max(0, n-b.window)
}

// Truncate implements kvcache.Memory.
func (b *backend) Truncate(seq int32, n int) int {
	_, have := b.held(seq)
	if n > 0 && b.cuttable(seq, n) && b.context.Remove(seq, n, -1) == nil {
		b.headCut(seq, n)
		if n < have && !b.cuts {
			b.recurrent.took(seq)
		}
		b.settle(seq, n)
		return n
	}
	_ = b.context.Remove(seq, -1, -1) // never fails for a sequence within the limits
	b.headCut(seq, 0)
	b.recurrent.forgot(seq)
	b.stale[seq], b.borders[seq] = false, border{}
	return 0
}

// Shares implements kvcache.Memory.
func (b *backend) Shares() bool { return !b.lacks.Sharing }

// Shareable implements kvcache.Checkpointer. A recurrent state is shared as it is: as a whole, and
// not while it is to go back.
func (b *backend) Shareable(seq int32, n int) bool {
	_, have := b.held(seq)
	return n > 0 && b.Shares() && b.cuttable(seq, n) && (b.cuts || n == have && !b.recurrent.back[seq])
}

// Share implements kvcache.Memory.
func (b *backend) Share(src, dst int32, n int) int {
	if src == dst || !b.Shareable(src, n) {
		return 0
	}
	b.recurrent.forgot(dst)
	b.borders[dst] = border{}
	if err := b.context.Share(src, dst, n); err != nil {
		_ = b.context.Remove(dst, -1, -1)
		return 0
	}
	if _, have := b.held(dst); have != n && !(b.grids && have > 0 && have < n) {
		_ = b.context.Remove(dst, -1, -1)
		return 0
	}
	b.settle(dst, n)
	b.headShare(src, dst, n)
	b.recurrent.shared(src)
	b.stale[dst] = b.stale[src]
	return n
}

// ContinueCopy implements kvcache.Memory.
func (b *backend) ContinueCopy(limit time.Duration, here bool) bool {
	return b.context.ContinueCopy(limit, here)
}

// Tokenize turns text into tokens. addSpecial adds the begin and end tokens the model wants,
// parseSpecial makes the text of control tokens those tokens. A text that the model refuses is a
// chat.ErrInvalidText.
func (e *Engine) Tokenize(ctx context.Context, text string, addSpecial, parseSpecial bool) ([]int32, error) {
	return tokenize(ctx, e.model, text, addSpecial, parseSpecial)
}

func tokenize(ctx context.Context, m *native.Model, text string, addSpecial, parseSpecial bool) ([]int32, error) {
	tokens, err := m.Tokenize(ctx, text, native.TokenizeOptions{AddSpecial: addSpecial, ParseSpecial: parseSpecial})
	if errors.Is(err, native.ErrInvalid) {
		err = invalidText{err}
	}
	return tokens, err
}

// Detokenize turns tokens into text, control tokens included. Pictures and sounds have none.
func (e *Engine) Detokenize(tokens []int32) (string, error) {
	tokens, _ = spoken(tokens, 0)
	return e.model.Detokenize(tokens, native.DetokenizeOptions{UnparseSpecial: true})
}

// Piece is the bytes of one token; those of a control token are its name, see Vocabulary.Piece.
func (e *Engine) Piece(token int32) string { return e.model.SpecialPiece(token) }

// Shown is the bytes that a token adds to an answer; a control token adds none.
func (e *Engine) Shown(token int32) string { return e.model.Piece(token) }

// Ends are the tokens that end an answer, in order.
func (e *Engine) Ends() []int32 { return slices.Clone(e.backend.ends) }

// Vocabulary is the vocabulary as plugins see it: a token is the text it shows, so control tokens
// have none.
type Vocabulary struct{ engine *Engine }

// Vocabulary returns the model's vocabulary for plugins.
func (e *Engine) Vocabulary() Vocabulary { return Vocabulary{e} }

// Size is the number of tokens.
func (v Vocabulary) Size() int { return v.engine.info.Vocabulary }

// Piece is the bytes that a token shows.
func (v Vocabulary) Piece(token int32) string { return v.engine.model.Piece(token) }

// attributes are the plugin ABI's names of llama.cpp's attributes.
var attributes = []struct {
	native native.Attribute
	abi    uint32
}{
	{native.AttributeControl, abi.AttrControl}, {native.AttributeEndOfGeneration, abi.AttrEnd},
	{native.AttributeByte, abi.AttrByte}, {native.AttributeUnused, abi.AttrUnused},
}

// Attributes are the ABI's attribute bits of a token.
func (v Vocabulary) Attributes(token int32) (bits uint32) {
	have := v.engine.model.Attributes(token)
	for _, a := range attributes {
		if have&a.native != 0 {
			bits |= a.abi
		}
	}
	return bits
}

// Special is the token of an ABI kind, or -1.
func (v Vocabulary) Special(kind int32) int32 {
	special := v.engine.info.Special
	switch kind {
	case abi.SpecialBOS:
		return special.BOS
	case abi.SpecialEOS:
		return special.EOS
	case abi.SpecialEOT:
		return special.EOT
	case abi.SpecialNewline:
		return special.Newline
	}
	return -1
}

// Tokenize turns text into tokens.
func (v Vocabulary) Tokenize(text string, addSpecial, parseSpecial bool) ([]int32, error) {
	return v.engine.Tokenize(context.Background(), text, addSpecial, parseSpecial)
}
