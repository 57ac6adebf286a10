// SPDX-License-Identifier: MIT

// Command probe is a plugin: a small network looks at the model's hidden states, and where it
// finds what it was trained to find, the answer is declined, ended, or goes back and on another
// way.
package main

import (
	"errors"
	"math"
	"strconv"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/math32"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// hold is how many tokens can be taken back; the stream runs as many behind.
const hold = 32

var _ = penstock.Register[probe](penstock.Manifest{
	Name:     "probe",
	Version:  "1.0.0",
	Summary:  "declines, ends or turns back an answer by what a trained probe finds in the model's hidden states",
	View:     penstock.None,
	Hold:     hold,
	TakeBack: 64 * hold,
	Splice:   256,
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"required": ["layers"],
		"properties": {
			"layers": {
				"type": "array", "minItems": 1, "maxItems": 3,
				"description": "the network, as tools/lab/trainprobe writes it: rows of weights, one for each output, and a bias for each; ReLU between layers, and one output at the end",
				"items": {
					"type": "object", "additionalProperties": false, "required": ["weights", "bias"],
					"properties": {
						"weights": {"type": "array", "minItems": 1, "maxItems": 256, "items": {"type": "array", "minItems": 1, "maxItems": 32768, "items": {"type": "number"}}},
						"bias": {"type": "array", "minItems": 1, "maxItems": 256, "items": {"type": "number"}}
					}
				}
			},
			"above": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5, "description": "the probability from which on it acts"},
			"then": {"enum": ["abstain", "stop", "rewind"], "default": "abstain", "description": "decline the question, end the answer, or take tokens back"},
			"say": {"type": "string", "maxLength": 400, "default": "I do not know.", "description": "the answer where it declines"},
			"back": {"type": "integer", "minimum": 1, "maximum": 32, "default": 8, "description": "how many tokens are taken back"},
			"tries": {"type": "integer", "minimum": 1, "maximum": 64, "default": 8, "description": "how often, before the answer goes on as it is"}
		}
	}`,
})

func main() {}

// probe is the plugin in one request.
type probe struct {
	layers  []layer
	above   float32
	then    string
	decline []penstock.Token // the answer instead, with its end
	back    int
	left    int // times that tokens may still be taken back
	prompt  int
	state   []float32
	tokens  []penstock.Token
	bans    []ban
}

// ban is a token that began what was taken back. It is not allowed at its place.
type ban struct {
	at    int // index in the history
	token penstock.Token
}

// Open implements penstock.Opener.
func (p *probe) Open(r *penstock.Request) error {
	var err error
	if p.layers, err = readLayers(r.Config.Get("layers"), r.Model().Get("embedding_size").Int()); err != nil {
		return err
	}
	p.above, p.then = float32(r.Config.Get("above").Float()), r.Config.Get("then").Text()
	p.back, p.left, p.prompt = r.Config.Get("back").Int(), r.Config.Get("tries").Int(), r.PromptTokens
	if p.then != "abstain" {
		return nil
	}
	return p.readDecline(r.Config.Get("say").Text())
}

var errEnd = errors.New(`config.then: "abstain" needs a model with a token that ends a turn or a text, which this one lacks; use "stop"`)

// readDecline makes tokens of the answer to what is declined.
func (p *probe) readDecline(say string) error {
	tokens := penstock.Tokenize(say, 0)
	if len(tokens) > 255 {
		return errors.New("config.say has " + strconv.Itoa(len(tokens)) + " tokens; 255 are the most")
	}
	end, ok := penstock.SpecialToken(penstock.EOT)
	if !ok {
		end, ok = penstock.SpecialToken(penstock.EOS)
	}
	if !ok {
		return errEnd
	}
	p.decline = append(tokens, end)
	return nil
}

// Prepare implements penstock.Preparer.
func (p *probe) Prepare(next *penstock.Next) {
	if len(p.bans) == 0 {
		return
	}
	at := penstock.HistoryLen()
	for _, b := range p.bans {
		if b.at == at {
			next.Bias(b.token, float32(math.Inf(-1)))
		}
	}
}

// Accept implements penstock.Accepter. The state is the one that the token was drawn from, so with
// the first token it is that of the whole prompt.
func (p *probe) Accept(penstock.Token) penstock.Accepted {
	first := penstock.HistoryLen() == p.prompt+1
	if p.then == "abstain" && !first {
		return penstock.Continue
	}
	if p.state = penstock.HiddenState(p.state); len(p.state) == 0 { // put in by somebody, or a host that does not tell
		return penstock.Continue
	}
	chance, ok := probability(p.layers, p.state)
	if !ok || chance < p.above {
		return penstock.Continue
	}
	_ = penstock.Output(map[string]any{"probability": chance, "then": p.then}) // where there is room for it
	switch p.then {
	case "abstain":
		return penstock.Splice(1, p.decline...)
	case "stop":
		return penstock.Stop
	}
	return p.turnBack()
}

// turnBack takes the last tokens back, and bans the first of these at its place.
func (p *probe) turnBack() penstock.Accepted {
	if p.left == 0 {
		return penstock.Continue
	}
	p.left--
	p.tokens = penstock.HistoryFrom(p.prompt, p.tokens)
	back := min(p.back, len(p.tokens))
	at := len(p.tokens) - back
	kept := p.bans[:0]
	for _, b := range p.bans {
		if b.at <= p.prompt+at { // what was before the others has changed
			kept = append(kept, b)
		}
	}
	p.bans = append(kept, ban{p.prompt + at, p.tokens[at]})
	return penstock.Splice(back)
}

// layer is one of a network: outputs are bias + weights × inputs.
type layer struct {
	weights [][]float32 // by output
	bias    []float32
}

// readLayers reads a network and checks that its layers fit each other and a hidden state of so
// many numbers; 0: it is not known.
func readLayers(list json.Value, width int) ([]layer, error) {
	layers := make([]layer, list.Len())
	for i := range layers {
		rows, bias := list.At(i).Get("weights"), list.At(i).Get("bias")
		at := "config.layers[" + strconv.Itoa(i) + "]"
		if rows.Len() != bias.Len() {
			return nil, errors.New(at + ".bias has " + strconv.Itoa(bias.Len()) + " numbers, and weights has " + strconv.Itoa(rows.Len()) + " rows; give one for each")
		}
		layers[i].bias = numbers(bias)
		for r := range rows.Len() {
			row := numbers(rows.At(r))
			if width > 0 && len(row) != width {
				return nil, errors.New(at + ".weights[" + strconv.Itoa(r) + "] has " + strconv.Itoa(len(row)) + " numbers, and its input " + strconv.Itoa(width) +
					"; train the probe on this model")
			}
			width = len(row)
			layers[i].weights = append(layers[i].weights, row)
		}
		width = rows.Len()
	}
	if width != 1 {
		return nil, errors.New("config.layers ends with " + strconv.Itoa(width) + " outputs; the last layer has one")
	}
	return layers, nil
}

func numbers(list json.Value) []float32 {
	all := make([]float32, list.Len())
	for i := range all {
		all[i] = float32(list.At(i).Float())
	}
	return all
}

// probability is what the network makes of a state. It is not ok where the state has another width
// than the network's input.
func probability(layers []layer, x []float32) (p float32, ok bool) {
	for i, l := range layers {
		out := make([]float32, len(l.bias))
		for r, row := range l.weights {
			if len(row) != len(x) {
				return 0, false
			}
			sum := float64(l.bias[r])
			for k, w := range row {
				sum += float64(float64(w) * float64(x[k]))
			}
			if out[r] = float32(sum); i < len(layers)-1 {
				out[r] = max(0, out[r])
			}
		}
		x = out
	}
	return 1 / (1 + math32.Exp(-x[0])), true
}
