// SPDX-License-Identifier: MIT

package serving

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/refusal"
)

// Models finds the models that are served.
type Models interface {
	// Use finds a model by the name that a client gave; "" is the default one. It may have to be
	// loaded first, which ends with ctx. The model stays loaded until release is called, once.
	// Errors that the client can fix are *refusal.Error.
	Use(ctx context.Context, name string) (m *Model, release func(), err error)
	// Seeing gives the name to find a model by for a request that has pictures: name, or where the
	// client leaves the choice to the server, that of a model that sees. It loads none.
	Seeing(name string) string
	// Loaded finds a model as Use does, if it is in memory; otherwise its error is that of
	// NotLoaded. It loads none, and is no use: the model is unloaded when it would have been
	// without it, but not before release is called.
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

// NotLoaded refuses to tell of a model what is known only while it is in memory, as llama-server
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
