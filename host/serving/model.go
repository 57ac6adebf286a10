// SPDX-License-Identifier: MIT

// Package serving describes the models of a server, and what each of them can do, for those who
// use them.
//
// # Notes
//
//   - host/loading puts a [Model] together of llama.cpp, a scheduler and plugins. They are behind
//     interfaces, so that the API is tested without them: servingtest has a model for that.
//   - Errors that the client can fix are refusals (*refusal.Error).
package serving

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/piece"
)

// Model is one model that is served.
type Model struct {
	Info
	Engine       Engine
	Scheduler    Scheduler
	Plugins      PluginFinder    // nil in tests that need none
	Adapters     Adapters        // nil likewise
	MediaEncoder MediaEncoder    // of pictures and sounds; nil: the model takes none, and Info.Media says so
	Recorder     Recorder        // nil: no request is recorded
	Receipts     *receipt.Issuer // nil: there are none

	// EmbedsOnly says that requests for text are refused, since the model only makes embeddings or
	// scores.
	EmbedsOnly bool

	Defaults Defaults // of its requests

	Conversations Conversations // saves the conversations of slots; nil: nothing does
	Measures      Measures      // nil in tests that need none

	// What answers requests for embeddings, and for scores of documents; nil: nothing.
	Embeddings, Scores *embedding.Model
}

// Defaults are what requests get that do not say otherwise.
type Defaults struct {
	Sampling *sampling.Defaults // nil: llama.cpp's
	Thinking *sampling.Thinking // nil: without a limit
	Schemas  schema.Options     // how their JSON schemas are read

	MaxTokens    int  // of an answer; 0: as many as fit
	ContextShift bool // an answer goes on when the context is full: the oldest tokens leave it
	ShiftKeep    int  // how many of the first tokens stay then; -1: those of the prompt
}

// Info describes a model.
type Info struct {
	Name    string   // what clients call it
	Aliases []string // other names that it answers to
	Tags    []string // what its operator says of it besides

	Path    string // where it came from
	BuiltIn bool   // it is the small one that the binary holds
	Created time.Time

	Context    int // tokens one conversation may have
	Weights    Weights
	Vocabulary Vocabulary
	Template   ChatTemplate
	Media      media.Abilities // what it takes besides text
	Projector  Projector       // with what
	Programs   Programs        // what programs may use
	States     States
	Compute    Compute
}

// Weights are what a model's file says of it.
type Weights struct {
	Family     string // its architecture: llama
	FileType   string // of most of them, by llama.cpp's name: Q4_0
	Training   int    // tokens of context it was trained with
	Embedding  int    // length of an embedding
	Parameters uint64
	Size       uint64 // bytes
}

// Vocabulary is a model's tokens.
type Vocabulary struct {
	Size     int
	Type     int     // llama.cpp's number
	BOS, EOS string  // the texts of the tokens
	BOSToken int32   // -1: none
	AddBOS   bool    // a prompt begins with BOSToken
	Ends     []int32 // the tokens that end an answer, in order
	FIM      FIM
}

// ChatTemplate is how a model has conversations written.
type ChatTemplate struct {
	Source    string          // empty if it has none
	WithTools string          // for conversations with tools; empty if there is no other
	Caps      map[string]bool // what it can do, by llama.cpp's names
	Assumed   bool            // the model brought none and none is configured: ChatML is used
	Thinks    bool            // it has the model reason before it answers
}

// Compute is with what a model's answers are computed, and how many at once.
type Compute struct {
	Slots   int // answers at the same time
	Batch   int // tokens that a forward pass takes
	Kernels Kernels
	Options []string // llama.cpp's options that differ from the defaults, as KEY=VALUE
	Workers []string // devices of other machines that computed when it was loaded, a line each
	Drafter string   // what guesses tokens, by llama-server's name of the type; empty: nothing
}

// Digest tells models apart if nothing better is known of their files. It is not a digest of the
// contents, which would take long to read.
func (i Info) Digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d\x00%d", i.Name, i.Weights.Size, i.Weights.Parameters, i.Created.UnixNano()))
	return hex.EncodeToString(sum[:])
}

// States are the hidden states that a model gives beside logits.
type States struct {
	Width  int // of one; 0: the model gives none
	Layers int // that give them; 0: only the last one
}

// Projector is the file with which a model sees or hears.
type Projector struct {
	Path   string // empty: there is none
	Kinds  string // of its encoders, by llama.cpp's names: gemma3, or mlp+ultravox
	Unused string // why it is not used, though it lies beside the model; empty: it is
}

// Engine is what a model does with text.
type Engine interface {
	chat.Renderer
	chat.Tokenizer
	// Detokenize gives the text of tokens; bytes that are not UTF-8 are replaced.
	Detokenize(tokens []int32) (string, error)
	// Piece is the bytes of one token.
	Piece(t int32) string
	// Shown is the bytes that a token adds to an answer: a control token none.
	Shown(t int32) string
	// NewChain builds the sampler chain of one request.
	NewChain(p sampling.Params) ([]chain.Stage, error)
	// Prepare reads the constraint of a request for all its answers, until ctx is done, and returns
	// it with the result. Its errors are as NewChain's.
	Prepare(ctx context.Context, p sampling.Params) (sampling.Constraint, error)
	// Relaxed is what of a constraint's JSON schema is not enforced, as the request allows.
	Relaxed(c sampling.Constraint) ([]schema.Relaxed, error)
	// Triggers finds the triggers of a lazy grammar, as the engine takes them, until ctx is done.
	Triggers(ctx context.Context, p sampling.Params) ([]sampling.Trigger, error)
	// PreservedTokens finds the control tokens that an answer shows, until ctx is done.
	PreservedTokens(ctx context.Context, p sampling.Params) ([]int32, error)
}

// MediaEncoder turns pictures and sounds into what stands for them in a prompt.
type MediaEncoder interface {
	// Encode returns the tokens of a picture or a sound: tokens of the vocabulary that the model
	// expects around it, and tokens below 0 for its pieces. It waits for its turn among
	// clients; caller says whose turn it is, and salt who shares embeddings. The pieces are held
	// until the request that has the tokens has ended (scheduler.Request.Pieces). An error that
	// the client can fix is a *refusal.Error.
	Encode(ctx context.Context, item media.Item, caller, salt string) (tokens []int32, pieces []*piece.Piece, err error)
	// Rows encodes as Encode does, and gives the embeddings of each piece as soon as they are
	// there, row after row. Nobody writes to them, and piece must be quick.
	Rows(ctx context.Context, item media.Item, caller, salt string, piece func(values []float32, rows int)) error
	// Count is how many tokens Encode would return, without an embedding computed.
	Count(item media.Item) (int, error)
}

// Scheduler computes answers.
type Scheduler interface {
	// Expect tells of a request whose prompt is still being made. arrived is called when it was
	// submitted, or will not be, and perhaps again.
	Expect() (arrived func())
	// SubmitBuilt has n requests of a caller built once there is room for all, and queues all or
	// none. It owns the stages of what was built, whatever it returns. An error of build is
	// returned as it is.
	SubmitBuilt(caller string, n int, build func() ([]scheduler.Request, error)) ([]Stream, error)
	// Inspect describes the slots and the last ticks.
	Inspect(ctx context.Context, ticks int) (scheduler.Snapshot, error)
	// Load tells how busy it is and what it has cached. It may be asked often.
	Load(ctx context.Context) (scheduler.Load, error)
}

// Conversations saves and restores those that the last answers of slots have left in the KV cache,
// under a cache salt. A call waits until its slot is idle. Errors that the client can fix are
// *refusal.Error.
type Conversations interface {
	// Save saves a slot's to a file and returns how many tokens it has, and bytes the file.
	Save(ctx context.Context, slot int, salt, name string) (tokens int, bytes int64, err error)
	// Restore makes what a file has the slot's.
	Restore(ctx context.Context, slot int, salt, name string) (tokens int, bytes int64, err error)
	// Erase drops a slot's, and returns how many tokens it had.
	Erase(ctx context.Context, slot int, salt string) (tokens int, err error)
}

// Stream is the answer to one request; one goroutine reads at a time. scheduler.Stream says what
// each method does.
type Stream interface {
	ID() string
	Next(ctx context.Context) (scheduler.Event, error)
	TryNext() (scheduler.Event, bool)
	Cancel()

	// These steer a running answer.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	Inject(ctx context.Context, tokens []scheduler.Token) error
	Rewind(ctx context.Context, n int) error
	SetChain(ctx context.Context, chain []chain.Stage) error

	// Conversation is the prompt and the answer so far, for a fork.
	Conversation(ctx context.Context) (prompt []scheduler.Token, answered answer.Begun, err error)
	// Done is closed when the answer has ended, whatever its reader has read.
	Done() <-chan struct{}
}

// Encoder turns all that requests have the model read into tokens.
func (m *Model) Encoder() chat.Encoder {
	return chat.Encoder{Model: m.Engine, Context: m.Context, AddBOS: m.Vocabulary.AddBOS}
}

// FIM are the tokens for filling in the middle; -1 where the model has none. They stand before the
// text that precedes the gap, before the text that follows it, before what fills it, before the
// name of a repository, and before the name of a file.
type FIM struct{ Prefix, Suffix, Middle, Repository, Separator int32 }

// Missing names those of the tokens prefix, suffix and middle that the model lacks.
func (f FIM) Missing() (names []string) {
	for _, t := range []struct {
		name  string
		token int32
	}{{"prefix", f.Prefix}, {"suffix", f.Suffix}, {"middle", f.Middle}} {
		if t.token < 0 {
			names = append(names, t.name)
		}
	}
	return names
}

// Programs bounds what a program among the plugins of a request may use.
type Programs struct {
	Branches int // at once; 0: as many as usual
	Tokens   int // that it puts into branches; 0: as many as the scheduler lets it
}

// defaultMostBranches is how many branches a program may have if the operator sets no limit.
const defaultMostBranches = 8

// MostBranches is how many branches a program may have at once. Each takes a slot; without a limit
// of the operator's, half of the slots stay for others.
func (i *Info) MostBranches() int {
	if i.Programs.Branches > 0 {
		return min(i.Programs.Branches, i.Compute.Slots)
	}
	return max(1, min(defaultMostBranches, i.Compute.Slots/2))
}

// Kernels tells whose kernels compute on the CPU: "penstock", "amx", "repack" or "ggml"; on a
// device, its name.
type Kernels struct {
	Attention string          `json:"attention"`
	Weights   []WeightKernels `json:"weights"` // most bytes first
	Off       []KernelOff     `json:"off"`
	NoGPU     string          `json:"no_gpu,omitempty"` // why a GPU that is there is not used
}

// WeightKernels tells which kernels multiply with weights of one type.
type WeightKernels struct {
	Type    string `json:"type"`
	Kernels string `json:"kernels"`
	Bytes   uint64 `json:"bytes"`
}

// KernelOff is one that was found broken and is not used.
type KernelOff struct {
	Kernel string `json:"kernel"`
	Reason string `json:"reason"`
}

// String is a line such as "attention: penstock; q4_K: amx 95%, q6_K: amx 5%".
func (k Kernels) String() string {
	var all uint64
	for _, w := range k.Weights {
		all += w.Bytes
	}
	var parts []string
	for _, w := range k.Weights {
		parts = append(parts, fmt.Sprintf("%s: %s %d%%", w.Type, w.Kernels, (100*w.Bytes+all/2)/max(all, 1)))
	}
	return "attention: " + k.Attention + "; " + strings.Join(parts, ", ")
}

// Measures tells what a model has done since it was loaded. Any goroutine may ask, also after the
// model was unloaded.
type Measures interface {
	// InterTokenLatency is the time between two tokens of one answer.
	InterTokenLatency() Histogram
	// Plugins is what the plugins of the folder have done, by name.
	Plugins() []PluginMeasures
}

// Histogram counts durations.
type Histogram struct {
	Bounds []time.Duration // upper bounds of the buckets, ascending
	Counts []uint64        // one a bucket, and one for what is above the last bound
	Sum    time.Duration   // of all
}

// PluginMeasures is what one plugin has done.
type PluginMeasures struct {
	Name   string
	State  string // ready; quarantined: for a client at least; failed: the file of this name cannot be loaded
	Calls  uint64
	Time   time.Duration // in calls
	Faults uint64
}

// Models finds the models that are served.
type Models interface {
	// Use finds a model by the name that a client gave; "" is the default one. It may have to be
	// loaded first, which ends with ctx. The model stays loaded until release is called, once.
	// Errors that the client can fix are *refusal.Error.
	Use(ctx context.Context, name string) (m *Model, release func(), err error)
	// Seeing returns the name of the model for a request with pictures: the given name, or if the
	// client leaves the choice to the server, that of a model that sees. It loads none.
	Seeing(name string) string
	// Loaded finds a model as Use does, but only in memory; otherwise it fails as
	// NotLoaded does. It does not count as use: the model is unloaded when it would have been without
	// it, but not before release is called.
	Loaded(name string) (m *Model, release func(), err error)
	// List describes all models that requests may name, the default one first.
	List() []Listed
	// Residents are the models in memory, and those that are being loaded. Asking changes nothing:
	// no model is loaded or kept for it.
	Residents() []Resident
	// Unload takes a model out of memory that nobody uses. Errors that the client can fix are
	// *refusal.Error.
	Unload(name string) error
}

// Listed is a model in a list, loaded or not.
type Listed struct {
	Info          // Context is 0 unless it is loaded
	Digest string // tells models apart; hexadecimal
	State  string // unloaded, loading or loaded
	Failed error  // why it did not load the last time; nil: it did, or was not asked for
}

// Resident is a model in memory, or on its way there.
type Resident struct {
	Name    string
	Model   *Model // nil: it is being loaded. It may be unloaded at any time: only Info, Scheduler.Inspect and Load, Adapters.List and Named, and Measures may be used
	Waiting int    // requests that wait until it is loaded
}

// NotLoaded refuses a question about a model that only a loaded model can answer, as llama-server
// does.
func NotLoaded(name string) *refusal.Error {
	return &refusal.Error{Kind: refusal.KindInvalid, Code: "model_not_loaded", Field: "model",
		Message: fmt.Sprintf("the model %q is not loaded, and this route loads none; the first request for an answer does, or POST /models/load with the admin key", name)}
}

// NotLoadable refuses a model that does not load.
func NotLoadable(name string, because error) *refusal.Error {
	return &refusal.Error{Kind: refusal.KindImpossible, Code: "model_not_loadable", Field: "model",
		Message: "the model " + name + " cannot be loaded: " + because.Error()}
}

// UnknownModel refuses a name that no model has, and tells which there are.
func UnknownModel(name string, known ...string) *refusal.Error {
	quoted := make([]string, len(known))
	for i, k := range known {
		quoted[i] = strconv.Quote(k)
	}
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "model_not_found", Field: "model",
		Message: fmt.Sprintf("there is no model %q here; this server has %s", name, strings.Join(quoted, ", "))}
}

// Adapters are the LoRA adapters of a model. Errors that the client can fix are *refusal.Error.
type Adapters interface {
	// Choose finds what a prompt is computed with besides the model, and from which position on:
	// the adapters that a request names, or if it names none those that count for all. It is nil
	// if there is nothing.
	Choose(scales []AdapterScale, prompt []scheduler.Token) (_ scheduler.Adapters, from int, _ error)
	// List describes what is loaded, by number.
	List() []AdapterInfo
	// Named are the adapters of a set by its key. It fails if one of them is no longer loaded.
	Named(key string) (_ []AdapterScale, ok bool)
	// SetScales sets how strongly the adapters count for requests that name none; those that it
	// leaves out do not count any more.
	SetScales(scales []AdapterScale) error
	// Load loads the adapter of that name in the model folder; it counts for all with a scale, 0
	// for requests that name it only.
	Load(ctx context.Context, name string, scale float32) (AdapterInfo, error)
	// Unload takes an adapter away. Requests that use it go on to their end.
	Unload(name string) error
}

// AdapterInfo describes a LoRA adapter.
type AdapterInfo struct {
	ID               int // the number by which llama-server's clients name it; never used again for another
	Name             string
	Path             string
	File             receipt.File // as it was when it was loaded
	Scale            float32      // for requests that name no adapter
	TaskName         string
	PromptPrefix     string
	InvocationTokens []int32 // of an activated LoRA: it counts from where a prompt has them last
	InvocationText   string
	Rank             int
	Bytes            uint64 // of its weights
}

// AdapterScale is how strongly an adapter is to count.
type AdapterScale struct {
	ID    int
	Name  string // in place of ID; "": by ID
	Scale float32
	Field string // of the request, for errors
}

// MaxAdapterScale is far beyond what makes sense; with more, numbers overflow.
const MaxAdapterScale = 1000

// UnknownAdapter refuses an adapter that is not loaded.
func (s AdapterScale) UnknownAdapter(loaded []AdapterInfo) *refusal.Error {
	field, value := s.Field+".id", fmt.Sprint(s.ID)
	if s.Name != "" {
		field, value = s.Field+".name", strconv.Quote(s.Name)
	}
	known := "none is"
	for i, l := range loaded {
		if i == 0 {
			known = ""
		} else {
			known += ", "
		}
		known += fmt.Sprintf("%d (%s)", l.ID, l.Name)
	}
	return refusal.Invalid(field, "%s is %s; no such LoRA adapter is loaded: %s", field, value, known)
}

// Recorder records the requests of a model.
type Recorder interface {
	// Begin begins the recording of a caller's request.
	Begin(caller string) Recording
}

// Recording is the recording of one request: of what its plugins were asked and answered, and of
// its answers.
type Recording interface {
	ID() string
	// Rendering is a context with which Plugins.Render is recorded.
	Rendering(ctx context.Context) context.Context
	// Watch has the plugins of a choice's policy recorded, as long as they are at work.
	Watch(of RecordedChoice, p Policy) Policy
	// Event adds what the client is told of a choice.
	Event(choice int, e scheduler.Event)
	// Release ends the recording, once the plugins have ended, too.
	Release()
}

// RecordedChoice is a choice before its answer begins.
type RecordedChoice struct {
	Index  int
	Seed   uint32
	Prompt int // tokens
	Begun  int // tokens that the answer of a fork begins with
}

// RecordingInfo describes a recording that is kept.
type RecordingInfo struct {
	ID      string   `json:"id"`
	Created int64    `json:"created"` // in seconds since 1970
	Model   string   `json:"model"`
	Plugins []string `json:"plugins"`       // those whose sessions it has
	Tokens  int      `json:"tokens"`        // of its answers
	Bytes   int64    `json:"bytes"`         // of the file
	Cut     string   `json:"cut,omitempty"` // why it ends before the answers did
}

// RecordingReader is a client that asks for recordings.
type RecordingReader struct {
	Caller string // Caller.ID; the recordings of others do not exist for it
	Admin  bool   // all exist
}
