// SPDX-License-Identifier: MIT

// Command trainprobe trains the network of plugins/examples/probe on a model.
//
// It asks two lists of questions, a line each, and fits a linear or a small neural network to the
// hidden state after each. It writes the plugin's configuration, and to stderr how many of the
// questions that were kept back come out right.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"

	"github.com/penstock/penstock/host/template"
	"github.com/penstock/penstock/native"
)

func main() {
	model := flag.String("model", "host/model/penstock-tiny.gguf", "`FILE` of the model")
	no := flag.String("no", "", "`FILE` with questions at which the probe is not to act")
	yes := flag.String("yes", "", "`FILE` with questions at which it is to act")
	hidden := flag.Int("hidden", 0, "neurons between state and output; 0: a linear probe")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *model, *no, *yes, *hidden); err != nil {
		fmt.Fprintln(os.Stderr, "trainprobe:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, model, no, yes string, hidden int) (err error) {
	if hidden < 0 || hidden > 256 {
		return fmt.Errorf("-hidden is %d; it must be 0 to 256", hidden)
	}
	reader, err := openReader(ctx, model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.close()) }()
	var all, kept []example
	for label, file := range []string{no, yes} {
		questions, err := lines(file)
		if err != nil {
			return err
		}
		for i, question := range questions {
			state, err := reader.after(ctx, question)
			if err != nil {
				return fmt.Errorf("%q: %w", question, err)
			}
			if e := (example{state, label}); i%5 == 4 {
				kept = append(kept, e)
			} else {
				all = append(all, e)
			}
		}
	}
	network := train(all, hidden)
	fmt.Fprintf(os.Stderr, "%d of %d questions that it was trained with come out right, and %d of %d that were kept back\n",
		right(network, all), len(all), right(network, kept), len(kept))
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"layers": network})
}

// lines are those of a file that are not empty.
func lines(file string) (list []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	if len(list) < 10 {
		return nil, fmt.Errorf("%s has %d questions; give ten or more, a line each", file, len(list))
	}
	return list, nil
}

// reader reads a model's hidden states.
type reader struct {
	model    *native.Model
	template *template.Template
	context  *native.Context
}

func openReader(ctx context.Context, file string) (*reader, error) {
	var r reader
	var err error
	if r.model, err = native.LoadModel(ctx, file, native.ModelOptions{}); err != nil {
		return nil, err
	}
	if r.template, err = template.New(r.model, ""); err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.context, err = native.NewContext(r.model, native.ContextOptions{Cells: 512, Batch: 512, Sequences: 1, Unified: true, Threads: native.Threads(r.model.Info().Size)})
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	if r.context.Limits().HiddenState == 0 {
		return nil, errors.Join(fmt.Errorf("%s: a model of the architecture %q gives no hidden states", file, r.model.Info().Architecture), r.close())
	}
	return &r, nil
}

func (r *reader) close() (err error) {
	if r.context != nil {
		err = errors.Join(err, r.context.Close())
	}
	if r.template != nil {
		err = errors.Join(err, r.template.Close())
	}
	return errors.Join(err, r.model.Close())
}

// after is the hidden state after a conversation of one question, where the answer begins.
func (r *reader) after(ctx context.Context, question string) ([]float64, error) {
	messages, err := json.Marshal([]map[string]string{{"role": "user", "content": question}})
	if err != nil {
		return nil, err
	}
	prompt, err := r.template.Render(ctx, native.Conversation{Messages: messages, AddGenerationPrompt: true})
	if err != nil {
		return nil, err
	}
	tokens, err := r.model.Tokenize(ctx, prompt.Text, native.TokenizeOptions{AddSpecial: true, ParseSpecial: true})
	if err != nil {
		return nil, err
	}
	var b native.Batch
	b.HiddenStates = []int32{0}
	for i, token := range tokens {
		b.Add(token, int32(i), 0, i == len(tokens)-1)
	}
	if err := r.context.Decode(&b); err != nil {
		return nil, err
	}
	var state []float64
	for _, x := range r.context.HiddenState(0, 0) {
		state = append(state, float64(x))
	}
	return state, r.context.Remove(0, 0, -1)
}

// example is a state, and whether the probe is to act: 1 or 0.
type example struct {
	state []float64
	label int
}

// layer is one of the network, as the plugin's configuration has it.
type layer struct {
	Weights [][]float32 `json:"weights"`
	Bias    []float32   `json:"bias"`
}

const (
	epochs = 400
	rate   = 0.01
	decay  = 0.02 // of weights, in each step's gradient: there are more numbers in a state than examples
)

// train fits a network to examples by stochastic gradient descent on the cross-entropy. It is the
// same each time.
func train(all []example, hidden int) []layer {
	rng := rand.New(rand.NewPCG(1, 2))
	mean, spread := standard(all)
	width := len(mean)
	var inner *dense
	if hidden > 0 {
		inner = newDense(rng, width, hidden)
		width = hidden
	}
	outer := newDense(rng, width, 1)
	for range epochs {
		for _, i := range rng.Perm(len(all)) {
			x := make([]float64, len(mean))
			for k := range x {
				x[k] = (all[i].state[k] - mean[k]) / spread[k]
			}
			step(inner, outer, x, float64(all[i].label))
		}
	}
	first := outer
	if inner != nil {
		first = inner
	}
	first.fold(mean, spread)
	if inner == nil {
		return []layer{outer.layer()}
	}
	return []layer{inner.layer(), outer.layer()}
}

// step moves the weights a little towards what is right for an example.
func step(inner, outer *dense, x []float64, label float64) {
	between, in := x, x
	if inner != nil {
		between = inner.of(x)
		for k := range between {
			between[k] = max(0, between[k])
		}
	}
	wrong := 1/(1+math.Exp(-outer.of(between)[0])) - label
	if inner != nil {
		back := make([]float64, len(between))
		for k := range back {
			if between[k] > 0 {
				back[k] = wrong * outer.weights[0][k]
			}
		}
		inner.learn(in, back)
	}
	outer.learn(between, []float64{wrong})
}

// standard is the mean of each of the states' numbers, and how far they are from it.
func standard(all []example) (mean, spread []float64) {
	mean, spread = make([]float64, len(all[0].state)), make([]float64, len(all[0].state))
	for k := range mean {
		for _, e := range all {
			mean[k] += e.state[k] / float64(len(all))
		}
		for _, e := range all {
			spread[k] += (e.state[k] - mean[k]) * (e.state[k] - mean[k]) / float64(len(all))
		}
		spread[k] = math.Sqrt(spread[k]) + 1e-6
	}
	return mean, spread
}

// dense is a layer while it learns.
type dense struct {
	weights [][]float64
	bias    []float64
}

func newDense(rng *rand.Rand, in, out int) *dense {
	d := &dense{bias: make([]float64, out)}
	for range out {
		row := make([]float64, in)
		for k := range row {
			row[k] = rng.NormFloat64() / math.Sqrt(float64(in)) / 4
		}
		d.weights = append(d.weights, row)
	}
	return d
}

func (d *dense) of(x []float64) []float64 {
	out := make([]float64, len(d.bias))
	for r, row := range d.weights {
		out[r] = d.bias[r]
		for k, w := range row {
			out[r] += w * x[k]
		}
	}
	return out
}

// learn goes a step against the gradient of each output.
func (d *dense) learn(x, gradient []float64) {
	for r, g := range gradient {
		row := d.weights[r]
		for k := range row {
			row[k] -= rate * (g*x[k] + decay*row[k])
		}
		d.bias[r] -= rate * g
	}
}

// fold has the layer take states as they are, which it has learnt with standardized ones.
func (d *dense) fold(mean, spread []float64) {
	for r, row := range d.weights {
		for k := range row {
			row[k] /= spread[k]
			d.bias[r] -= row[k] * mean[k]
		}
	}
}

func (d *dense) layer() layer {
	var l layer
	for r, row := range d.weights {
		short := make([]float32, len(row))
		for k, w := range row {
			short[k] = rounded(w)
		}
		l.Weights, l.Bias = append(l.Weights, short), append(l.Bias, rounded(d.bias[r]))
	}
	return l
}

// rounded is a number with four digits: a configuration is sent with each request.
func rounded(x float64) float32 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	return float32(math.Round(x*scale) / scale)
}

// right is how many examples come out right.
func right(network []layer, all []example) (n int) {
	for _, e := range all {
		x := e.state
		for i, l := range network {
			out := make([]float64, len(l.Bias))
			for r, row := range l.Weights {
				out[r] = float64(l.Bias[r])
				for k, w := range row {
					out[r] += float64(w) * x[k]
				}
				if i < len(network)-1 {
					out[r] = max(0, out[r])
				}
			}
			x = out
		}
		if (x[0] >= 0) == (e.label == 1) {
			n++
		}
	}
	return n
}
