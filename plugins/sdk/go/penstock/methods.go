// SPDX-License-Identifier: MIT

package penstock

// Opener begins a request.
type Opener interface {
	// Open sets the plugin's fields from the request. An error refuses the request; the client
	// reads its text, so it should name the field, its value and the remedy.
	Open(r *Request) error
}

// Warmer builds what all requests need, an index of the vocabulary for example, once for each
// model.
type Warmer interface {
	// Warm builds it. There is no request yet: no configuration and no history. What it leaves in
	// the plugin's fields, and in variables of the program, is there for Open and all later calls.
	// An error means that the plugin cannot work with this model.
	Warm(v *Vocabulary) error
}

// Rewriter rewrites conversations before they become prompts.
type Rewriter interface {
	// Rewrite gives the messages that the model is to read instead: those it was given, changed,
	// with others between or without some. The model's own template makes the prompt of them. An
	// error refuses the request.
	Rewrite(conversation []Message) ([]Message, error)
}

// Drafter guesses how the answer goes on.
type Drafter interface {
	// Draft gives at most so many tokens that are likely to come next; none is a guess, too. The
	// model computes them together, and the answer takes those that it would have had anyway, so a
	// wrong guess changes nothing but the speed.
	Draft(most int) []Token
}

// Renderer turns conversations into prompts.
type Renderer interface {
	// Render gives the prompt's text, which must not be empty. An error refuses the request.
	Render(conversation []Message) (string, error)
}

// Preparer works while the model computes, before the logits exist. What it takes costs no time as
// long as it is done before the model is.
type Preparer interface {
	// Prepare says what is to hold for the next token. It must not keep next.
	Prepare(next *Next)
}

// Sampler sees the best candidates of each token.
type Sampler interface {
	// Sample edits the candidates, drops some or takes one. At least one must be left, and no
	// logit may become NaN or +Inf. It must not keep c.
	Sample(c *Candidates) Choice
}

// RowSampler sees the logits of the whole vocabulary, which costs a copy and a pass. It must stand
// before any stage that drops tokens.
type RowSampler interface {
	// SampleRow edits the logits or takes a token, as Sampler's Sample.
	SampleRow(r *Row) Choice
}

// Accepter follows the tokens.
//
// A plugin without the method Rewind is started again, told all tokens and shown all text again,
// whenever others take tokens back. So what it keeps is always that of the answer as it stands.
type Accepter interface {
	// Accept gets each token once it is chosen, by whatever stage. The tokens of the plugin's own
	// Splice are accepted too; another Splice is no answer to those.
	Accept(t Token) Accepted
}

// Stopper decides from the text when an answer is complete.
//
// A plugin without the method Rewind is started again, and shown again the text that still stands,
// whenever text that it was shown is taken back. So it may count what it sees.
type Stopper interface {
	// Stop gets each token with the text that is new: whole characters, each once, perhaps none. A
	// long text comes in several calls. It must not keep the text.
	Stop(t Token, text []byte) Verdict
}

// Rewinder learns of tokens that others took back: another plugin's Splice, or a user who goes
// back, inserts or branches off. Leave it out unless going back is cheaper than beginning anew:
// without it the host sees to it that the plugin knows the answer as it stands. With it the plugin
// has to undo all that it has kept, of tokens and of text; History and AnswerText have what is
// left.
type Rewinder interface {
	// Rewind tells that the history is now n tokens long, prompt included. An error ends the
	// request.
	Rewind(n int) error
}

// Closer is told that the request is over, unless the plugin failed.
type Closer interface {
	// Close is the last call.
	Close()
}
