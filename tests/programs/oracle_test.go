// SPDX-License-Identifier: MIT

package programs

import (
	"math"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// oracle is a model without a server, of which tests ask what it says after some tokens: what
// plugins show is compared with it.
type oracle struct {
	t      testing.TB
	engine *engine.Engine
	has    []int32 // in the cache
	wholly bool    // it computes all tokens each time, since not every memory can be cut
}

// rounding is by how much log-probabilities differ that were computed beside others, or in another
// order.
const rounding = 0.02

// builtInModel is where the model is that is in the binary.
const builtInModel = hosts.BuiltIn

func newOracle(t testing.TB, path string) *oracle {
	t.Helper()
	e := must.Get(engine.Open(t.Context(), engine.Options{Path: path, Slots: 1, ContextSize: 512, Threads: 1, KVLayout: "split"}))(t)
	must.Close(t, e)
	return &oracle{t: t, engine: e, wholly: path != builtInModel}
}

// tokens are those of a text, as a prompt has them.
func (o *oracle) tokens(text string) []int32 {
	o.t.Helper()
	return must.Get(o.engine.Tokenize(o.t.Context(), text, true, true))(o.t)
}

// text is what tokens show.
func (o *oracle) text(tokens []int32) (text string) {
	for _, t := range tokens {
		text += o.engine.Shown(t)
	}
	return text
}

// ends reports whether a token ends an answer.
func (o *oracle) ends(token int32) bool { return slices.Contains(o.engine.Ends(), token) }

// says gives the log-probability of each token after some.
func (o *oracle) says(tokens []int32) []float64 {
	o.t.Helper()
	same := 0
	for !o.wholly && same < min(len(o.has), len(tokens)-1) && o.has[same] == tokens[same] {
		same++
	}
	b := o.engine.Backend()
	b.Truncate(0, same)
	var batch scheduler.Batch
	for i := same; i < len(tokens); i++ {
		batch.Add(tokens[i], int32(i), 0, i == len(tokens)-1)
	}
	must.Do(o.t, b.Start(&batch))
	must.Do(o.t, b.Wait())
	o.has = slices.Clone(tokens)
	return logs(b.Row(0))
}

// logs are the log-probabilities of a row of logits.
func logs(row []float32) []float64 {
	highest, sum, list := float64(slices.Max(row)), 0.0, make([]float64, len(row))
	for _, l := range row {
		sum += math.Exp(float64(l) - highest)
	}
	for i, l := range row {
		list[i] = float64(l) - highest - math.Log(sum)
	}
	return list
}

// greedy is the most likely answer token by token, and by how much each token is likelier than the
// next.
func (o *oracle) greedy(prompt []int32, most int) (answer []int32, margins []float64) {
	o.t.Helper()
	for len(answer) < most {
		best, margin := top(o.says(slices.Concat(prompt, answer)))
		if o.ends(best) {
			break
		}
		answer, margins = append(answer, best), append(margins, margin)
	}
	return answer, margins
}

// top is the most likely token, and by how much it is likelier than the next.
func top(logs []float64) (best int32, margin float64) {
	second := math.Inf(-1)
	for i, l := range logs {
		switch {
		case l > logs[best]:
			best, second = int32(i), logs[best]
		case int32(i) != best && l > second:
			second = l
		}
	}
	return best, logs[best] - second
}

// sum is the log-probability of an answer to a prompt.
func (o *oracle) sum(prompt, answer []int32) (sum float64) {
	o.t.Helper()
	for i, token := range answer {
		sum += o.says(slices.Concat(prompt, answer[:i]))[token]
	}
	return sum
}
