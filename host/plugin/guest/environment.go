// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/memory"
	"github.com/penstock/penstock/host/turns"
)

// Environment is what all guests of one model share. It shares what does not depend on the model
// with the environments of other models: limits, budget and time slices. It is safe for concurrent
// use.
type Environment struct {
	plugin.HostOptions // with its defaults filled in; nobody changes them

	budget     *budget
	kept       *budget // a part of budget, for what clients' modules take as long as they are loaded
	timeSlices *turns.Permits
	vocab      func() []byte // the result of the host function of this name, built when first asked for
	model      []byte        // the model as the import request returns it: JSON
}

// NewEnvironment fills in the defaults of o.
func NewEnvironment(o plugin.HostOptions) *Environment {
	e := &Environment{HostOptions: o, timeSlices: newTimeSlices(), budget: &budget{}, kept: &budget{}}
	if e.Limits == (plugin.Limits{}) {
		e.Limits = plugin.DefaultLimits()
	}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	e.budget.limit = e.Limits.Memory
	e.kept.limit, e.kept.within = e.Limits.Memory/keptPart, e.budget
	return e.For(o.ModelOptions)
}

// For returns the environment of another model's guests.
func (e *Environment) For(o plugin.ModelOptions) *Environment {
	other := *e
	other.ModelOptions = o
	if other.Vocabulary == nil {
		other.Vocabulary = noVocabulary{}
	}
	if other.Observer == nil {
		other.Observer = noObserver{}
	}
	other.vocab = sync.OnceValue(other.buildVocab)
	other.model, _ = json.Marshal(other.Model) // texts and numbers always can
	return &other
}

// HasModel reports whether guests can ask about a vocabulary.
func (e *Environment) HasModel() bool { return e.Vocabulary.Size() > 0 }

// MemoryUse tells how many bytes all instances have together, and how many they may have.
func (e *Environment) MemoryUse() (used, limit int64) { return e.budget.used.Load(), e.budget.limit }

type noObserver struct{}

func (noObserver) PluginCalls(string, string) func(time.Duration) { return func(time.Duration) {} }
func (noObserver) PluginFault(string, string)                     {}

// noVocabulary is the vocabulary of an Environment without a model.
type noVocabulary struct{}

func (noVocabulary) Size() int                                    { return 0 }
func (noVocabulary) Piece(int32) string                           { return "" }
func (noVocabulary) Attributes(int32) uint32                      { return 0 }
func (noVocabulary) Special(int32) int32                          { return -1 }
func (noVocabulary) Tokenize(string, bool, bool) ([]int32, error) { return nil, nil }

// budget is the memory that all instances may have together. It is a memory.Account.
type budget struct {
	limit  int64
	used   atomic.Int64
	within *budget // that it is a part of; nil: none

	mu sync.Mutex
	of map[string]int64 // bytes by client, where memory counts by client
}

// keptPart divides the memory of all instances: one part is for what clients' modules take as long
// as they are loaded.
const keptPart = 4

// share is a client's part of the budget: half of what other clients leave. It is a memory.Account.
type share struct {
	*budget
	client string
}

// Take implements memory.Account.
func (s share) Take(bytes uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.of[s.client]
	if room := (s.limit - (s.used.Load() - own)) / 2; own+int64(bytes) > room || !s.budget.Take(bytes) {
		return false
	}
	if s.of == nil {
		s.of = map[string]int64{}
	}
	s.of[s.client] = own + int64(bytes)
	return true
}

// Give implements memory.Account.
func (s share) Give(bytes uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget.Give(bytes)
	if s.of[s.client] -= int64(bytes); s.of[s.client] <= 0 {
		delete(s.of, s.client)
	}
}

// exceeded returns the violation of a call or a request that needs more than the share. A share is
// always less than what is left of the budget, so the budget is never the reason.
func (s share) exceeded() *Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.of[s.client]
	left := (s.limit - (s.used.Load() - own)) >> 20
	if s.within != nil {
		return Violationf(plugin.CauseBudget, "your modules keep %d of the %d MiB that others leave for modules (a quarter of plugins.memory), and may keep half; remove some of them, or wait until they have expired",
			own>>20, left)
	}
	return Violationf(plugin.CauseBudget, "your scripts and modules have %d of the %d MiB that others leave of plugins.memory, and may have half; try again when some have ended",
		own>>20, left)
}

// Kept is the memory that a client's module takes as long as it is loaded, in addition to the
// images of its memory. It is nil for the operator's modules, which do not count.
type Kept struct {
	share
	label string // of the module in metrics
	bytes uint64
}

// Keep takes memory for a module of a client, which metrics know as label. The error is a
// *plugin.Fault if the client may not have so much.
func (e *Environment) Keep(client, label string, bytes int64) (*Kept, error) {
	k := &Kept{share{e.kept, client}, label, uint64(bytes)}
	if !k.Take(k.bytes) {
		return nil, &plugin.Fault{Plugin: label, Export: exportNames[none], Cause: plugin.CauseBudget, Detail: k.exceeded().detail}
	}
	return k, nil
}

// Give gives the memory back.
func (k *Kept) Give() {
	if k != nil {
		k.share.Give(k.bytes)
	}
}

// Own makes the module a client's before it is loaded: what it does counts as the client's. The
// module gives k back when it is closed.
func (m *Module) Own(k *Kept) {
	if k != nil {
		m.kept, m.Shares = k, true
	}
}

// account returns what an instance for a session takes its memory from.
func (m *Module) account(s *Session) memory.Account {
	if client := s.client(); m.Shares && client != "" {
		return share{m.Env.budget, client}
	}
	return m.Env.budget
}

// exceeded returns the violation of a call or a request of the instance that needs more memory.
func (i *Instance) exceeded() *Violation {
	if s, is := i.module.account(i.session).(share); is {
		return s.exceeded()
	}
	return i.module.Env.budget.exceeded()
}

// Take implements memory.Account.
func (b *budget) Take(bytes uint64) bool {
	if b.used.Add(int64(bytes)) > b.limit || b.within != nil && !b.within.Take(bytes) {
		b.used.Add(-int64(bytes))
		return false
	}
	return true
}

// Give implements memory.Account.
func (b *budget) Give(bytes uint64) {
	b.used.Add(-int64(bytes))
	if b.within != nil {
		b.within.Give(bytes)
	}
}

// exceeded returns the violation of a call or a request that needs more than the budget.
func (b *budget) exceeded() *Violation {
	return Violationf(plugin.CauseBudget, "all plugins together have %d of at most %d MiB (plugins.memory); try again in a moment", b.used.Load()>>20, b.limit>>20)
}
