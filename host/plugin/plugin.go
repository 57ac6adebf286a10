// SPDX-License-Identifier: MIT

// Package plugin defines what the packages of the plugin host share: what a plugin may use, what
// the host offers it, and how a plugin fails.
//
// A plugin is a WebAssembly module of ABI v1 (docs/abi/v1.md), run by wazero. Each of these
// packages imports only those above it:
//
//	plugin/fuel        rewrites a module so that it counts its fuel and its stack itself
//	plugin/memory      linear memory that never moves and can begin as a copy of another
//	plugin             limits, errors, causes of faults, what plugins see of a request
//	plugin/compile     bytes → metered machine code, in a child process, kept in a cache
//	plugin/guest       one instance at work: host functions, WASI, a call with its fuel and its time
//	plugin/quarantine  which clients wait after repeated faults
//	plugin/load        compiled code → a plugin with manifest and configuration schema, and an image warmed for each model
//	plugin/stage       a plugin as a stage of a sampler chain, a stop rule or a template
//	plugin/session     what a plugin was asked and answered, recorded and replayed
//	plugin/registry    the plugins of a folder; uploads
//
// The way of a call:
//
//	stage.Stage.Apply    puts candidates into the guest's bound buffer
//	guest.Instance.Call  fills fuel, calls the export on a reused stack
//	the guest            may call host functions, which find their instance through the call's context
//	stage.Stage          checks every number that comes back, before any of it is used
//
// Where is fuel charged? Package fuel rewrites a guest's code so that it charges for its own work
// (fuel/charge.go), and has the Meter that refills the guest's counter (fuel/meter.go).
// guest/instance.go fills the meter before each call and reads it after. guest/hostcall.go charges
// for the work of host functions.
//
// What happens when fuel runs out? The refill of the meter, or a host function's charge, panics,
// which ends the call as a trap. diagnose (guest/fault.go) turns that into CauseFuel, and
// Instance.Fail (guest/instance.go) into a Fault: the instance runs nothing any more, and the fault
// counts towards quarantine. Stage.endOnFault (stage/stage.go) then ends the request, or with
// on_error=skip lets it go on without the plugin. Every other fault goes the same way from
// Instance.Fail on.
//
// Whatever a guest does ends in a Fault, a Refusal or a valid answer. Memory views are
// little-endian, as all platforms are that wazero compiles for.
package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// Limits bound what a plugin may use. DefaultLimits are those of ABI v1.
type Limits struct {
	Module   fuel.Limits   // what a module may consist of
	Compile  time.Duration // of all processors, for compiling a module
	Upload   time.Duration // of an upload, until it is answered, by the clock
	HookFuel int64         // units for each call of prepare, sample, accept, stop, filter, rewind, close
	HookTime time.Duration // of each such call; only for close do waits for others count
	// ProgramFuel is for all of a program's penstock_run, in units. Between two waits it has what
	// HookFuel says.
	ProgramFuel int64
	SetupFuel   int64         // units for each call of describe, warm, open, template, _initialize
	SetupTime   time.Duration // of all such calls of a request, with the wait for their time slices
	LoadTime    time.Duration // of each such call when a module is loaded
	PlanFuel    int64         // units for each call of plan
	PlanTime    time.Duration // of each such call, without the wait for its time slices and the rests between them
	PlanText    int           // bytes that plan emits
	PlanMemory  uint64        // bytes of pages that plan changes
	Memory      int64         // bytes of all instances together
	Stack       int64         // bytes of guest call stack
	Log         int           // bytes a request
	Emit        int           // bytes a call
	Fail        int           // bytes of the text of a refusal
	Output      int           // bytes of all values for the client
	Outputs     int           // values for the client
	Held        int           // bytes of text a stop plugin or a filter may hold back
	Filtered    int           // bytes that a filter may write for an answer, plus eight for each byte it is given
	Grammars    int           // handles an instance
	Grammar     int           // bytes of a grammar's text
	Faults      int           // faults a minute that lead to quarantine
}

// DefaultMemory is the default memory of all instances together, in bytes.
const DefaultMemory = 2 << 30

// DefaultProgramFuel is the default fuel of a program, in units: some minutes of a processor.
const DefaultProgramFuel = 100_000_000_000

// DefaultLimits returns the limits of ABI v1.
func DefaultLimits() Limits {
	return Limits{
		Module:    fuel.DefaultLimits(),
		Compile:   abi.LimitCompileMS * time.Millisecond,
		Upload:    abi.LimitUploadMS * time.Millisecond,
		HookFuel:  abi.LimitHookFuel,
		SetupFuel: abi.LimitSetupFuel,
		HookTime:  abi.LimitHookMS * time.Millisecond,

		ProgramFuel: DefaultProgramFuel,

		SetupTime: abi.LimitSetupMS * time.Millisecond,
		LoadTime:  abi.LimitLoadMS * time.Millisecond,
		PlanFuel:  abi.LimitPlanFuel,
		PlanTime:  abi.LimitPlanMS * time.Millisecond,

		PlanText:   abi.LimitPlanBytes,
		PlanMemory: abi.LimitPlanMemory,

		Memory:   DefaultMemory,
		Stack:    abi.LimitStackBytes,
		Log:      abi.LimitLogBytes,
		Emit:     abi.LimitEmitBytes,
		Fail:     abi.LimitFailBytes,
		Output:   abi.LimitOutputBytes,
		Outputs:  abi.LimitOutputs,
		Held:     abi.LimitHeldBytes,
		Filtered: abi.LimitFilterBytes,
		Grammars: abi.LimitGrammars,
		Grammar:  abi.LimitGrammarBytes,
		Faults:   abi.LimitFaults,
	}
}

// HostOptions are what the host offers its plugins. Without a model, plugins can be loaded and
// inspected, and used with models that are named later.
type HostOptions struct {
	ModelOptions
	TopK TopK // nil: a portable one
	// FirstInvalid returns the index of the first logit of a row that is NaN or +Inf, or −1; nil: a
	// portable one.
	FirstInvalid func(row []float32) int
	Log          *slog.Logger
	LogLines     bool   // Log has the lines that guests log in requests too; they may quote the request
	CacheDir     string // compiled code is kept there between runs; empty: in memory
	Limits       Limits // the zero value: DefaultLimits
	// Interpreter returns the module that runs scripts, a part of this program. Nil: nothing runs
	// them.
	Interpreter func() []byte
}

// ModelOptions describe a model to the plugins that are used with it.
type ModelOptions struct {
	Vocabulary Vocabulary // nil: there is no model
	Model      Model
	Grammars   Grammars // nil: grammar_open says that there are none
	Observer   Observer // nil: none
	Replay     Replay   // answers host calls in a player; nil: the host does
	Alone      bool     // no other model is ever used, so a plugin that fails with it is useless
}

// Model is what plugins learn about the model, under these names. Unknown fields are zero.
type Model struct {
	Name           string `json:"name,omitempty"`         // as the API knows it
	Architecture   string `json:"architecture,omitempty"` // as its file says
	Description    string `json:"description,omitempty"`  // as its file says
	Digest         string `json:"digest,omitempty"`       // of its file and its control vectors, as the engine tells models apart
	Parameters     uint64 `json:"parameters,omitempty"`   // how many there are
	SizeBytes      uint64 `json:"size_bytes,omitempty"`   // of the weights
	VocabularySize int    `json:"vocabulary_size,omitempty"`
	ContextTrain   int    `json:"context_train,omitempty"` // the longest context it was trained for, in tokens
	EmbeddingSize  int    `json:"embedding_size,omitempty"`
	Layers         int    `json:"layers,omitempty"`
}

// Vocabulary is the model's vocabulary. It is safe for concurrent use.
type Vocabulary interface {
	Size() int
	// Piece returns the bytes that a token shows; control tokens have none.
	Piece(token int32) string
	// Attributes returns the ABI's attribute bits.
	Attributes(token int32) uint32
	// Special returns the token of an ABI kind, or -1.
	Special(kind int32) int32
	Tokenize(text string, addSpecial, parseSpecial bool) ([]int32, error)
}

// Grammars compiles grammars for plugins. It is safe for concurrent use.
type Grammars interface {
	// Open compiles text of an ABI grammar kind, until ctx is done. An error says what is wrong with
	// the text, and where. work is the fuel that compiling takes, also if the grammar was known. The
	// time that it takes tells no other client what this client has opened.
	Open(ctx context.Context, client string, kind int32, text string) (g Grammar, work uint64, err error)
}

// Grammar is one compiled grammar with its place in it; not for concurrent use.
type Grammar interface {
	// Mask writes which tokens may come next, in the ABI's layout. mask has (vocabulary + 31) / 32
	// words.
	Mask(mask []uint32) error
	// MaskWithin is Mask without the tokens after which the text cannot be completed within a number
	// of tokens, the next one included. False: no next token can be, and the mask is empty.
	MaskWithin(tokens int, mask []uint32) (bool, error)
	// Rest returns how many tokens complete the text at most; ended: nothing may follow.
	Rest() (tokens int, ended bool, err error)
	// Accept moves on by a token. It returns false, and changes nothing, if the token may not come
	// next.
	Accept(token int32) bool
	// Beginning returns the grammar's initial state, for a branch of a program; nil: branches cannot
	// follow it.
	Beginning() program.GrammarState
	Close() error
}

// TopK writes the k largest of row and their indices, largest first and equal ones by index, and
// returns how many there are. It leaves out −Inf and NaN. ids and logits have room for k.
type TopK func(row []float32, k int, ids []int32, logits []float32) int

// Observer is told of every call. Its methods and the functions that they return must be quick and
// safe for concurrent use.
type Observer interface {
	// PluginCalls returns a function that is told the time of each call of an export. An instance asks
	// once for each export.
	PluginCalls(plugin, export string) func(took time.Duration)
	PluginFault(plugin, kind string)
}

// RequestInfo is what a plugin and its quarantine need to know of the request that uses it.
type RequestInfo struct {
	Name        string // what the request calls the plugin; empty: by its own name
	Client      string // in whose turns the plugin computes, and who waits after repeated faults; empty: nobody
	Config      []byte // JSON that fits the plugin's schema; empty: {}
	Seed        uint64 // of this choice
	Index       int    // of the plugin among the plugins of the request's chain, from 0
	MaxTokens   int
	ContextSize int
	StateLayer  int32     // the layer whose hidden states the plugin reads, from 1; 0: the last one, after the norm
	Time        time.Time // when the request came; zero: plugins are not told
	Choice      int       // which of the answers to its prompt, from 0
	Choices     int       // how many there are; 0 counts as 1
	Skip        bool      // after a fault the request goes on without the plugin
	Attached    bool      // the operator attached the plugin, so the client is not blamed for its faults
	Required    bool      // every token of the answer must be allowed by the plugin
	Setup       *Setup
	// Parts begins to divide the answer into parts; nil: its parts are not known.
	Parts func() (Parts, error)
	// Sampling returns the request's present sampling parameters, a JSON object; nil: {}. It is called
	// when a plugin asks for them, at any time and from any goroutine.
	Sampling func() []byte
	// Chain makes a sampler chain for a program, with the request's parameters as a JSON object
	// changes them; empty: unchanged. The function that it returns makes the stages for a seed.
	// Nil: there are no chains.
	Chain func(ctx context.Context, parameters []byte) (func(seed uint32) ([]chain.Stage, error), error)
	// Messages is the conversation before the plugin rewrote it, as JSON, for a plugin that puts parts
	// of it back into the answer's text; empty: there is none.
	Messages []byte
	// Media describes the pictures and sounds of the prompt or of the conversation, as the import
	// media returns them: a JSON list; empty: there are none.
	Media []byte
	// PromptText renders messages, JSON, with the model's template, for a plugin that writes
	// prompts or rewrites conversations. Nil: there is no template.
	PromptText func(ctx context.Context, messages []byte) (string, error)
	// Prompt renders messages, JSON, with the model's template into tokens, for a program. Nil: there
	// is no template.
	Prompt func(ctx context.Context, messages []byte) ([]int32, error)
}

// Setup is a common deadline for setting up all guests of a choice. Its time begins with the first
// guest. The zero value is ready; with nil each guest has a deadline of its own.
type Setup struct {
	once sync.Once
	over time.Time
}

// Deadline returns when set-up must be over, if it may take as long as limit.
func (s *Setup) Deadline(limit time.Duration) time.Time {
	if s == nil {
		return time.Now().Add(limit)
	}
	s.once.Do(func() { s.over = time.Now().Add(limit) })
	return s.over
}

// Parts tells which part of an answer its text ends in. Calls do not overlap.
type Parts interface {
	// Part returns the part that a text ends in. Mostly the text is the previous one and some more.
	Part(text string) abi.Part
	Close()
}

// SeenTokens returns tokens as plugins see them: a row of a picture or a sound, whose number is
// internal to the scheduler, becomes abi.TokenMedia.
func SeenTokens(tokens []int32) []int32 {
	first := slices.IndexFunc(tokens, func(t int32) bool { return t < abi.TokenMedia })
	if first < 0 {
		return tokens
	}
	seen := slices.Clone(tokens)
	for i, t := range seen[first:] {
		seen[first+i] = max(t, abi.TokenMedia)
	}
	return seen
}

// Deed is a call of a host function whose answer a player cannot compute, with what the guest gave
// and what it got. The ABI's table says which lists there are. It has the content of memory,
// without addresses.
type Deed struct {
	Import  string
	Args    []int32 // its parameters without addresses
	Tokens  []int32 // what the guest gave: tokens and handles
	Numbers []float32
	Text    string
	Digest  string // of long input: SHA-256 in hexadecimal digits

	Answer int32
	Gave   Given
	Err    error // why the host had no answer
	Fuel   int64 // units that it took
	Added  int64 // units that a wait brought
	Failed bool  // it ended the call, or the run of a program
}

// Given is what a guest got in its memory.
type Given struct {
	Tokens  []int32
	Numbers []float32
	Text    string
	Mask    []uint32 // in the bound buffer; valid until the call is over
}

// Replay answers a deed in place of the host, by filling in its results. It returns false to have
// the host function answer. An error ends the call of the guest.
type Replay func(*Deed) (answered bool, err error)

// Lock says which modules may be loaded: for each plugin's name, the SHA-256 of its modules in
// hexadecimal digits. A nil Lock allows all.
type Lock map[string][]string

var lockEntry = regexp.MustCompile(`^([a-z0-9][a-z0-9._-]{0,63})@sha256:([0-9a-f]{64})$`)

// NewLock makes a Lock of entries like NAME@sha256:HEX; several may have the same name. No entry
// at all makes a nil Lock.
func NewLock(entries []string) (Lock, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	l := Lock{}
	for _, e := range entries {
		parts := lockEntry.FindStringSubmatch(e)
		if parts == nil {
			return nil, fmt.Errorf("%q is not NAME@sha256: with 64 hexadecimal digits in small letters; `penstock plugin list --lock` prints what the plugin folder has", e)
		}
		l[parts[1]] = append(l[parts[1]], parts[2])
	}
	return l, nil
}

// LockEntry is the entry that allows a module.
func LockEntry(name, sum string) string { return name + "@sha256:" + sum }

// Allows tells whether a module may be loaded at all. What its name is it says only when it runs.
// The error wraps ErrLocked.
func (l Lock) Allows(wasm []byte) error {
	if l == nil {
		return nil
	}
	hash := sha256.Sum256(wasm)
	sum := hex.EncodeToString(hash[:])
	for _, sums := range l {
		for _, s := range sums {
			if s == sum {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: its SHA-256 is %s, which is not among those that plugins.lock allows; add NAME@sha256:%s if you trust it", ErrLocked, sum, sum)
}

// AllowsName tells whether a module that Allows has let in may have its name. The error wraps
// ErrLocked.
func (l Lock) AllowsName(name, sum string) error {
	if l == nil {
		return nil
	}
	for _, s := range l[name] {
		if s == sum {
			return nil
		}
	}
	return fmt.Errorf("%w: its name is %q, and plugins.lock has its SHA-256 under another; the entry would be %s", ErrLocked, name, LockEntry(name, sum))
}
