// SPDX-License-Identifier: MIT

package penstock

import "github.com/penstock/penstock/plugins/sdk/go/json"

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
