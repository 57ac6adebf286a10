// SPDX-License-Identifier: MIT

// Package penstock is what every plugin needs: its registration, the types that its methods take
// and return, and the functions of the host.
//
// A plugin is one type with the methods that it needs, registered once:
//
//	var _ = penstock.Register[coin](penstock.Manifest{Name: "coin"})
//
//	func main() {}
//
//	// coin takes one of the two best candidates.
//	type coin struct{}
//
//	func (*coin) Sample(c *penstock.Candidates) penstock.Choice {
//		if c.Len() > 1 && penstock.Uniform() < 0.5 {
//			return penstock.Take(c.IDs()[1])
//		}
//		return penstock.Keep(1)
//	}
//
// The interfaces of this package list the methods: Opener, Warmer, Planner, Renderer, Preparer,
// Sampler or RowSampler, Accepter, Drafter, Stopper, Rewinder, Closer, Rewriter and Runner. The
// module exports all of them, and its manifest lists those that the type has. A method that it does
// not have is never called and costs nothing. A line such as
//
//	var _ penstock.Sampler = (*coin)(nil)
//
// has the compiler refuse a method with other parameters than the SDK's. Without it, a test with
// package plugintest finds such a method, and a misspelt one; when the module is loaded only the
// likeliest of these mistakes are found.
//
// Each request gets a new value of the type, so its fields belong to that request alone. Calls
// never overlap.
package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	_ "github.com/penstock/penstock/plugins/sdk/go/internal/heap" // the collector that the targets of TinyGo name
	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// Registration is the result of Register, so that the call can be made at package level.
type Registration struct{}

// Register makes T the plugin: a type with some of the methods that this package has interfaces
// for, at least one of them beside Open, Warm, Rewind and Close. Call it once, at package level or
// in init:
//
//	var _ = penstock.Register[T](penstock.Manifest{Name: "…"})
func Register[T any](m Manifest) Registration {
	p := &guest.Plugin{Name: m.Name, New: func() any { return new(T) }}
	p.Manifest = func() ([]byte, string) { return describe(&m, new(T)) }
	p.Begin = func() { beginPlugin(&m, new(T)) }
	guest.Registered, p.Before = p, guest.Registered
	p.Begin()
	return Registration{}
}

var (
	manifest *Manifest
	opener   Opener // nil where the type has no such method; so are the others
)

// beginPlugin makes a value the current plugin.
func beginPlugin(m *Manifest, value any) {
	manifest = m
	opener, _ = value.(Opener)
	guest.Open = open
	beginLife(value)
	beginNext(value)
	beginAccept(value)
	beginStop(value)
	beginFilter(value)
	beginSample(value)
	beginRun(value)
}

func beginLife(value any) {
	guest.Warm, guest.Plan, guest.Close, guest.Rewind, guest.Render = nil, nil, nil, nil, nil
	if w, ok := value.(Warmer); ok {
		guest.Warm = func() int32 { return refuse(w.Warm(ReadVocabulary())) }
	}
	if p, ok := value.(Planner); ok {
		guest.Plan = func() int32 { return refuse(makePlan(p, value)) }
	}
	if c, ok := value.(Closer); ok {
		guest.Close = c.Close
	}
	if r, ok := value.(Rewinder); ok {
		guest.Rewind = func(size int32) int32 { return refuse(r.Rewind(int(size))) }
	}
	guest.Rewrite, guest.Draft = nil, nil
	if r, ok := value.(Rewriter); ok {
		guest.Rewrite = func() int32 { return rewrite(r) }
	}
	if d, ok := value.(Drafter); ok {
		guest.Draft = func(n int32) int32 { return draft(d, n) }
	}
	if r, ok := value.(Renderer); ok {
		guest.Render = func() int32 { return render(r) }
	}
}

// open begins a request: it allocates the buffers that the plugin's methods need, and passes the
// request on.
func open() int32 {
	for _, bind := range [...]func() bool{bindNext, bindSplice, bindText, bindView} {
		if !bind() {
			return refuse(errBind)
		}
	}
	if opener == nil {
		return 0
	}
	r, err := readRequest()
	if err != nil {
		return refuse(err)
	}
	return refuse(opener.Open(r))
}

// refuse passes the text of an error to the host and returns the answer that means it; 0 without an
// error.
func refuse(err error) int32 {
	if err == nil {
		return 0
	}
	text := []byte(err.Error())
	abi.Fail(unsafe.Pointer(unsafe.SliceData(text)), int32(len(text)))
	return 1
}

func emit(text []byte) { abi.Emit(unsafe.Pointer(unsafe.SliceData(text)), int32(len(text))) }

// Opener begins a request.
type Opener interface {
	// Open sets the plugin's fields from the request. An error refuses the request; the client
	// reads its text, so it should name the field, its value and the remedy.
	Open(r *Request) error
}

// Warmer builds what all requests need, for example an index of the vocabulary, once for each
// model.
type Warmer interface {
	// Warm builds it. There is no request yet: no configuration and no history. Its results in the
	// plugin's fields, and in variables of the program, are there for Open and all later calls. An
	// error means that the plugin cannot work with this model.
	Warm(v *Vocabulary) error
}

// Planner says what one configuration needs, before any request with it runs.
type Planner interface {
	// Plan is called once for each configuration, in a copy of the plugin as Warm left it, and says
	// in plan what requests with this configuration need. What it leaves in the plugin's fields, and
	// in variables of the program, is there for Open and all later calls: what takes long, such as a
	// mask over the vocabulary, is built once. Of the request it knows nothing but the
	// configuration. An error refuses the configuration; the client reads its text, so it should
	// name the field, its value and the remedy. A host that has no plans never calls it.
	Plan(config json.Value, plan *Plan) error
}

// Rewriter rewrites conversations before they become prompts.
type Rewriter interface {
	// Rewrite returns the messages that the model is to read instead of those it got. It may
	// change, add and drop messages. The model's own template makes the prompt from them. An error
	// refuses the request.
	Rewrite(conversation []Message) ([]Message, error)
}

// Drafter drafts the next tokens of the answer.
type Drafter interface {
	// Draft returns tokens that are likely to come next, no more than most. The model computes them
	// together, and the answer takes those that it would have drawn anyway, so a wrong draft only
	// changes the speed.
	Draft(most int) []Token
}

// Renderer turns conversations into prompts.
type Renderer interface {
	// Render returns the prompt's text, which must not be empty. An error refuses the request.
	Render(conversation []Message) (string, error)
}

// Preparer works while the model computes, before the logits exist. It costs no time if it is done
// before the model is.
type Preparer interface {
	// Prepare sets the constraints for the next token. It must not keep next.
	Prepare(next *Next)
}

// Sampler sees the best candidates of each token.
type Sampler interface {
	// Sample edits the candidates, drops some or takes one. At least one must be left, and no
	// logit may become NaN or +Inf. It must not keep c.
	Sample(c *Candidates) Choice
}

// RowSampler sees the logits of the whole vocabulary, which costs a copy and a pass. It must come
// before any stage that drops tokens.
type RowSampler interface {
	// SampleRow edits the logits or takes a token, like Sampler's Sample.
	SampleRow(r *Row) Choice
}

// Accepter follows the tokens.
//
// A plugin without the method Rewind is started again, and all tokens and all text are replayed to
// it, whenever others take tokens back. So its state always matches the answer as it is now.
type Accepter interface {
	// Accept gets each token once it is chosen, by any stage. The tokens of the plugin's own Splice
	// are accepted too; these calls may not return another Splice.
	Accept(t Token) Accepted
}

// Stopper decides from the text when an answer is complete.
//
// A plugin without the method Rewind is started again, and is shown the remaining text again,
// whenever text that it was shown is taken back. So it may count what it sees.
type Stopper interface {
	// Stop gets each token with the new text: whole characters, each once, possibly none. A long
	// text is passed in several calls. It must not keep the text.
	Stop(t Token, text []byte) Verdict
}

// Filterer rewrites the text of the answer before anybody sees it.
type Filterer interface {
	// Filter gets what it kept back, followed by new text that is about to be shown, in whole
	// characters. shown is what is shown instead: the text itself where nothing is to be changed. keep
	// is how many of the text's last bytes are kept back, at most 4 KiB: they come again in the next
	// call, before what follows. last: nothing follows, and nothing can be kept back.
	//
	// The text is the model's, with tags of reasoning and tool calls, after stop strings. Of several
	// plugins each gets what the one before it shows. Filter may write into the text, but must not
	// keep it. Where text that was shown is taken back, a plugin without the method Rewind is started
	// again, and gets the text again that is left.
	Filter(text []byte, last bool) (shown []byte, keep int)
}

// Rewinder is told that others took tokens back: another plugin's Splice, or a user who rewinds,
// injects or forks. Leave it out unless going back is cheaper than starting again: without it the
// host makes sure that the plugin's state matches the answer. With it the plugin has to undo all
// that it has kept about tokens and text; History and AnswerText have what is left.
type Rewinder interface {
	// Rewind is called when the history has become n tokens long, prompt included. An error ends
	// the request.
	Rewind(n int) error
}

// Closer is told that the request is over, unless the plugin failed.
type Closer interface {
	// Close is the last call.
	Close()
}

// Every module exports all calls. The manifest lists those that the plugin has methods for, and the
// host makes no others.

//go:wasmexport penstock_abi_v1
func exportVersion() {}

//go:wasmexport penstock_warm
func exportWarm() int32 { return guest.Warm() }

//go:wasmexport penstock_plan
func exportPlan() int32 { return guest.Plan() }

//go:wasmexport penstock_open
func exportOpen() int32 { return guest.Open() }

//go:wasmexport penstock_messages
func exportMessages() int32 { return guest.Rewrite() }

//go:wasmexport penstock_template
func exportTemplate() int32 { return guest.Render() }

//go:wasmexport penstock_prepare
func exportPrepare() int32 { return guest.Prepare() }

//go:wasmexport penstock_sample
func exportSample(n int32) int32 { return guest.Sample(n) }

//go:wasmexport penstock_accept
func exportAccept(token int32) int32 { return guest.Accept(token) }

//go:wasmexport penstock_stop
func exportStop(token, size int32) int32 { return guest.Stop(token, size) }

//go:wasmexport penstock_filter
func exportFilter(size, last int32) int32 { return guest.Filter(size, last) }

//go:wasmexport penstock_draft
func exportDraft(n int32) int32 { return guest.Draft(n) }

//go:wasmexport penstock_rewind
func exportRewind(size int32) int32 { return guest.Rewind(size) }

//go:wasmexport penstock_run
func exportRun() int32 { return guest.Run() }

//go:wasmexport penstock_close
func exportClose() { guest.Close() }
