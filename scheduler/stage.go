// SPDX-License-Identifier: MIT

package scheduler

// View is what a chain works on: the logits of one row, and the candidates that earlier stages left.
//
// While N is negative no stage has narrowed the row: every token of Row is a candidate. From then on the candidates are
// ID[:N] with Logit[:N]. Chosen is the token a stage decided on, or -1. No stage keeps a reference to it.
type View struct {
	Row    []float32
	ID     []Token
	Logit  []float32
	N      int
	Chosen Token
}

// Stage is one link of a slot's sampler chain, with the state it keeps for that slot. Calls on one stage never overlap.
type Stage interface {
	// Native tells that the backend's SampleRows can run this stage. A chain of exactly one native stage takes the
	// fast path: all such slots of a tick are sampled in one call.
	Native() bool
	// Apply edits the view, or sets v.Chosen, which ends the chain. An error ends the request, no other.
	Apply(v *View) error
	// Accept tells the stage which token was chosen, by whomever.
	Accept(t Token) error
	// Rewind tells the stage what the conversation is: the first prompt tokens of history are the prompt, the rest is the
	// answer so far. It is called once before anything else, and whenever tokens were taken back.
	Rewind(history []Token, prompt int) error
	// Close frees the stage.
	Close() error
}

// Draw asks the backend to sample one row.
type Draw struct {
	Row   int   // output row of the last pass
	Stage Stage // a native stage
	Token Token // result
	Err   error // result: why there is no token
}

// StopRule decides from the text of an answer whether it ends. It sees all text once, in whole UTF-8 characters.
type StopRule interface {
	// Check is called with each token and the text it completed, which may be empty.
	Check(t Token, text string) (Verdict, error)
	Close() error
}

// Verdict is a stop rule's answer. The zero value means that all text so far may be shown.
type Verdict struct {
	Hold bool // nothing since the last verdict without Hold may be shown yet
	End  bool // the answer ends
	Show int  // with End: how many bytes since the last verdict without Hold are shown; negative means all
}
