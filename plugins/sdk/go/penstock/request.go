// SPDX-License-Identifier: MIT

package penstock

import (
	"errors"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// Request is the request that the plugin serves.
type Request struct {
	// Config is the request's configuration for this plugin, an object. The host has checked it
	// against the manifest's schema, and filled in the schema's defaults.
	Config       json.Value
	PromptTokens int    // tokens of the prompt
	MaxTokens    int    // tokens to generate at most; 0: the request sets no limit, and the answer may go on until the context is full
	ContextSize  int    // tokens, prompt included, that the model can take
	Seed         uint64 // of the choice that this plugin serves
	Time         int64  // when the request came, in milliseconds since 1970 (UTC), for time.UnixMilli; 0 on a host that does not tell
	Choice       int    // which of the answers to its prompt this one is, from 0
	Choices      int    // how many there are: a request's n; 1 on a host that does not tell
}

// Sampling is the request's sampling parameters, an object with the names of a request's body, such
// as temperature and top_k. A client may change them while it reads the answer; each call returns
// the current ones. It is Null on a host without this function.
func (r *Request) Sampling() json.Value { return asked("sampling") }

// Model describes the model: an object with name, architecture, description, digest, parameters,
// size_bytes, vocabulary_size, context_train, embedding_size and layers. Unknown members are
// missing. It is Null on a host without this function.
func (r *Request) Model() json.Value { return asked("model") }

// Messages is the conversation as the plugin's Rewrite got it, for a plugin that has Filter, too,
// and puts back into the answer what it has replaced. It is empty in other plugins, and if the
// request has no messages.
func (r *Request) Messages() ([]Message, error) {
	text := read(func(p unsafe.Pointer, limit int32) int32 { return abi.Messages(p, limit) })
	if len(text) == 0 {
		return nil, nil
	}
	return parse(text)
}

// Call is a call of the host that a plugin can decline for a request, or leave out of a plan, by
// the method that it is of.
type Call string

// The calls that can be declined, and left out of plans. CallSample is of SampleRow, too.
// CallRender and CallRun can only be left out of plans.
const (
	CallRewrite Call = "penstock_messages"
	CallPrepare Call = "penstock_prepare"
	CallSample  Call = "penstock_sample"
	CallAccept  Call = "penstock_accept"
	CallDraft   Call = "penstock_draft"
	CallStop    Call = "penstock_stop"
	CallFilter  Call = "penstock_filter"
	CallRewind  Call = "penstock_rewind"
	CallClose   Call = "penstock_close"
	CallRender  Call = "penstock_template"
	CallRun     Call = "penstock_run"
)

var errDecline = errors.New("the host does not let this call be declined here")

// Decline has the host go on, in this request, as if the plugin did not have these methods, so that
// they cost nothing. It is to be called in Open; the error says that it was not. On a host without
// this function the methods are called nevertheless.
func (r *Request) Decline(calls ...Call) error {
	if !Feature("decline") {
		return nil
	}
	for _, c := range calls {
		if abi.Decline(unsafe.Pointer(unsafe.StringData(string(c))), int32(len(c))) != abi.DeclineOk {
			return errDecline
		}
	}
	return nil
}

var errHold = errors.New("the host does not let so many tokens be held here: the manifest's Hold is the most")

// Hold says how many of the last tokens the plugin may take back in this request, at most as many
// as the manifest's Hold: the stream runs so far behind. It is to be called in Open; the error says
// that it was not, or that tokens is more. On a host without this function the manifest's Hold
// stays in force.
func (r *Request) Hold(tokens int) error {
	if Feature("hold") && abi.Hold(int32(tokens)) != abi.HoldOk {
		return errHold
	}
	return nil
}

func asked(what string) json.Value {
	if !Feature("request") {
		return json.Value{}
	}
	v, _ := json.Parse(read(func(p unsafe.Pointer, limit int32) int32 { return abi.Request(p, limit) })) // the host writes JSON
	return v.Get(what)
}

var errDefaults = errors.New("this host does not fill in a configuration's defaults, which the plugin relies on: it needs a newer one")

func readConfig() (json.Value, error) {
	if hasDefault(manifest.ConfigSchema) && !Feature("config_defaults") {
		return json.Value{}, errDefaults
	}
	return json.Parse(read(func(p unsafe.Pointer, limit int32) int32 { return abi.Config(p, limit) }))
}

func readRequest() (*Request, error) {
	config, err := readConfig()
	if err != nil {
		return nil, err
	}
	return &Request{
		Config:       config,
		PromptTokens: int(abi.Param(abi.ParamPromptTokens)),
		MaxTokens:    int(abi.Param(abi.ParamMaxTokens)),
		ContextSize:  int(abi.Param(abi.ParamContextSize)),
		Seed:         uint64(abi.Param(abi.ParamSeed)),
		Time:         max(0, abi.Param(abi.ParamTime)),
		Choice:       max(0, int(abi.Param(abi.ParamChoice))),
		Choices:      max(1, int(abi.Param(abi.ParamChoices))),
	}, nil
}

// hasDefault is strings.Contains(schema, `"default"`), which is larger.
func hasDefault(schema string) bool {
	const word = `"default"`
	for i := 0; i+len(word) <= len(schema); i++ {
		if schema[i:i+len(word)] == word {
			return true
		}
	}
	return false
}

// read asks with a small buffer first and again with the right one. TinyGo cannot pass an import
// itself as a function.
func read(from func(unsafe.Pointer, int32) int32) []byte {
	text := make([]byte, 512)
	for {
		n := from(unsafe.Pointer(&text[0]), int32(len(text)))
		if int(n) <= len(text) {
			return text[:n]
		}
		text = make([]byte, n)
	}
}

// Feature reports whether the host has an import, an export or a feature of the ABI with this name.
// The functions of this package work on every host; ask before calling an import of your own, and
// declare that under "//go:wasmimport penstock-optional NAME".
func Feature(name string) bool {
	return abi.Feature(unsafe.Pointer(unsafe.StringData(name)), int32(len(name))) == 1
}
