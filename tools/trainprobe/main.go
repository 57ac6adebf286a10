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
