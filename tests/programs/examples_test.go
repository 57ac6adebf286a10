// SPDX-License-Identifier: MIT

package programs

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// programs are the examples that are programs, each with a request that it can answer.
var programs = map[string]string{
	"beam":      `{"width":3}`,
	"best-of":   `{"n":3}`,
	"consensus": `{"n":3,"answer":"named (\\w+)","weight":"confidence","window":4,"warmup":1}`,
	"choice":    `{"choices":[" lived"," wanted a shell"," was a frog"]}`,
	"cot":       `{"k":3,"answer":"named (\\w+)"}`,
	"form":      `{"template":" named {name}. One day {day}.","at_once":2}`,
	"guidance":  `{"scale":1.5}`,
	"heal":      `{}`,
	"lookahead": `{"width":3,"tokens":4}`,
	"smc":       `{"without":"z","particles":3}`,
}

// openPrograms opens a host with all programs, among them the one that is there in Rust too.
func openPrograms(t *testing.T) (h *host.Host, names []string) {
	t.Helper()
	names = append(slices.Sorted(maps.Keys(programs)), "beam-rust")
	return hosts.SharedWithExamples(t, names...), names
}

// configOf is what a program can answer with.
func configOf(name string) string { return programs[strings.TrimSuffix(name, "-rust")] }

// Each program answers whole, in a stream and over the WebSocket, in the same way.
func TestPrograms_AnswerInEveryWay(t *testing.T) {
	h, names := openPrograms(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			fields := `"max_tokens":24,"seed":5,"temperature":0,"plugins":[{"name":"` + name + `","config":` + configOf(name) + `}]}`
			request := `{"messages":[{"role":"user","content":"Tell me a story about a frog."}],` + fields
			text, err := hosts.Whole(t, h, request)
			if err != nil || text == "" {
				t.Fatalf("it answers %q: %v", text, err)
			}
			if got, err := hosts.Streamed(t, h, request); err != nil || got != text {
				t.Errorf("in a stream it answers %q, not %q: %v", got, text, err)
			}
			c := hosts.Dial(t, h)
			c.Send(`{"type":"generate","id":"a","request":` + request + `}`)
			if end := c.Until("end"); c.Texts["a"] != text {
				t.Errorf("over the WebSocket it answers %q, not %q (%s)", c.Texts["a"], text, end.Reason)
			}
		})
	}
}

// The program in Rust gives the answers that the one in Go does, and tells its client as much. Near
// ties are told apart.
func TestPrograms_RustSaysWhatGoDoes(t *testing.T) {
	o := newOracle(t, builtInModel)
	h, _ := openPrograms(t)
	for i, opening := range openings[:4] {
		fields := map[string]any{"prompt": opening, "n_predict": 24, "seed": i, "temperature": 0, "cache_prompt": false}
		inGo, inRust := writes(t, h, fields, "beam", json.RawMessage(programs["beam"])), writes(t, h, fields, "beam-rust", json.RawMessage(programs["beam"]))
		if inRust.Content != inGo.Content && !nearTie(o, opening, inRust.Content, inGo.Content) {
			t.Errorf("after %q the one in Rust writes %q, the one in Go %q", opening, inRust.Content, inGo.Content)
		}
		if len(inRust.Outputs) != len(inGo.Outputs) || len(inRust.Outputs) > 0 && inRust.Content == inGo.Content && !alike(inRust.Outputs[0].Value, inGo.Outputs[0].Value) {
			t.Errorf("the one in Rust tells %s, the one in Go %s", inRust.Outputs, inGo.Outputs)
		}
	}
}

// alike reports whether two JSON values are the same but for the rounding of numbers.
func alike(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return cmp.Equal(x, y, cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < rounding }))
}

// The scores of choices are those that the model gives the texts after the prompt.
func TestChoice_ScoresExactly(t *testing.T) {
	o, h := newOracle(t, builtInModel), hosts.SharedWithExamples(t, "choice")
	prompt := o.tokens("One day Ivy wanted a")
	texts := []string{" pink shell", " rope", " boat in the garden", " stone", " long walk to the pond", " white boat", " nap", "."}
	for _, normalize := range []string{"none", "tokens", "bytes"} {
		w := writes(t, h, map[string]any{"prompt": prompt}, "choice", map[string]any{"choices": texts, "normalize": normalize})
		var got struct {
			Choices []struct {
				Text           string
				Tokens         int
				Logprob, Score float64
			}
		}
		w.output(t, &got)
		best := 0
		for i, c := range got.Choices {
			tokens := must.Get(o.engine.Tokenize(t.Context(), c.Text, false, false))(t)
			want := o.sum(prompt, tokens)
			length := map[string]int{"none": 1, "tokens": len(tokens), "bytes": len(c.Text)}[normalize]
			if c.Text != texts[i] || c.Tokens != len(tokens) || math.Abs(c.Logprob-want) > rounding || math.Abs(c.Score-want/float64(length)) > rounding {
				t.Errorf("by %s: %+v, the log-probability is %v", normalize, c, want)
			}
			if c.Score > got.Choices[best].Score {
				best = i
			}
		}
		if len(got.Choices) != len(texts) || w.Content != texts[best] {
			t.Errorf("by %s it shows %q, the best is %q of %+v", normalize, w.Content, texts[best], got)
		}
	}
}

// guided is greedy decoding from sums of log-probabilities.
func guided(o *oracle, prompt, other []int32, scale float64, most int) (answer []int32, closest float64) {
	closest = math.Inf(1)
	for len(answer) < most {
		with, without := o.says(slices.Concat(prompt, answer)), o.says(slices.Concat(other, answer))
		likeliest := slices.Max(with)
		for i := range with {
			d := with[i] - likeliest - math.Log(0.1)
			if closest = min(closest, math.Abs(d)); d < 0 {
				with[i] = math.Inf(-1)
				continue
			}
			with[i] = scale*with[i] + (1-scale)*without[i]
		}
		best, margin := top(with)
		if closest = min(closest, margin); o.ends(best) {
			break
		}
		answer = append(answer, best)
	}
	return answer, closest
}

// Guidance and contrast with a shorter context say what is best by sums of full log-probabilities.
func TestGuidance_EqualsAReference(t *testing.T) {
	o, h := newOracle(t, builtInModel), hosts.SharedWithExamples(t, "guidance")
	exact, other := 0, 0
	for i, opening := range openings {
		prompt, scale := o.tokens(opening), []float64{1.5, 2, 3}[i%3]
		config, negative := map[string]any{"scale": scale, "negative": "A story without a frog:"}, o.tokens("A story without a frog:")
		if i%2 == 1 {
			config, negative = map[string]any{"scale": scale, "context": 3}, prompt[len(prompt)-3:]
		}
		want, closest := guided(o, prompt, negative, scale, 16)
		w := writes(t, h, map[string]any{"prompt": prompt, "n_predict": 16, "temperature": 0}, "guidance", config)
		switch {
		case closest < rounding*scale:
		case !slices.Equal(w.Tokens, want):
			t.Errorf("%q: it writes %q, the reference %q (closest: %v)", opening, w.Content, o.text(want), closest)
		default:
			exact++
		}
		if plain, _ := o.greedy(prompt, 16); !slices.Equal(plain, want) {
			other++
		}
	}
	if exact < 3 || other < 2 {
		t.Errorf("%d answers were compared exactly, and %d are not the greedy ones: too little was tested", exact, other)
	}
}

// Fields that are filled at once are those that are filled one by one.
func TestForm_AtOnceIsOneByOne(t *testing.T) {
	o, h := newOracle(t, builtInModel), hosts.SharedWithExamples(t, "form")
	for _, opening := range openings {
		var texts []string
		for _, atOnce := range []int{4, 1} {
			w := writes(t, h, map[string]any{"prompt": opening, "temperature": 0, "n_predict": 200}, "form", map[string]any{
				"template": " {first} and {second}. One day {third}. Then {fourth}.", "after": map[string]any{"fourth": []string{"third"}}, "max_tokens": 8, "at_once": atOnce})
			var fields map[string]string
			if w.output(t, &fields); len(fields) != 4 {
				t.Errorf("it gives the fields %v", fields)
			}
			texts = append(texts, w.Content)
		}
		if texts[0] != texts[1] && !nearTie(o, opening, texts[0], texts[1]) {
			t.Errorf("at once it writes %q, one by one %q", texts[0], texts[1])
		}
	}
}

// nearTie reports whether the model finds two texts about equally likely where they part. It is no
// proof that a program read the same, but what reads something else is likely to differ more.
func nearTie(o *oracle, prompt, a, b string) bool {
	x, y := o.tokens(prompt+a), o.tokens(prompt+b)
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	if n == min(len(x), len(y)) {
		return false
	}
	said := o.says(x[:n])
	return math.Abs(said[x[n]]-said[y[n]]) < rounding
}

// The best of several answers is the one with the highest mean log-probability, which is the
// model's own.
func TestBestOf_GivesTheLikeliest(t *testing.T) {
	o, h := newOracle(t, builtInModel), hosts.SharedWithExamples(t, "best-of")
	for i, opening := range openings[:4] {
		prompt := o.tokens(opening)
		w := writes(t, h, map[string]any{"prompt": prompt, "n_predict": 12, "temperature": 1.2, "seed": i}, "best-of", map[string]any{"n": 4})
		var got struct {
			Answers []struct {
				Text    string
				Logprob float64
			}
			Best int
		}
		w.output(t, &got)
		for _, a := range got.Answers {
			if len(got.Answers) != 4 || a.Logprob > got.Answers[got.Best].Logprob {
				t.Errorf("%q: it takes %d of %+v", opening, got.Best, got.Answers)
			}
		}
		if want := o.sum(prompt, w.Tokens) / float64(max(1, len(w.Tokens))); math.Abs(want-got.Answers[got.Best].Logprob) > rounding || w.Content != got.Answers[got.Best].Text {
			t.Errorf("%q: it shows %q of %+v, whose mean log-probability is %v", opening, w.Content, got.Answers, want)
		}
	}
}

// Texts without a letter have none, and the evidence is no more than that of the model's own texts.
func TestSMC_KeepsItsRule(t *testing.T) {
	h := hosts.SharedWithExamples(t, "smc")
	for i, opening := range openings[:4] {
		w := writes(t, h, map[string]any{"prompt": opening, "n_predict": 24, "seed": i}, "smc", map[string]any{"without": "eE", "particles": 4})
		var got struct {
			Evidence  float64 `json:"log_evidence"`
			Particles []struct {
				Text   string
				Weight float64
			}
		}
		w.output(t, &got)
		sum := 0.0
		for _, p := range got.Particles {
			if sum += p.Weight; strings.ContainsAny(p.Text, "eE") {
				t.Errorf("%q has the letter", p.Text)
			}
		}
		if math.Abs(sum-1) > 1e-6 || got.Evidence >= 0 || !slices.ContainsFunc(got.Particles, func(p struct {
			Text   string
			Weight float64
		}) bool {
			return p.Text == w.Content
		}) {
			t.Errorf("it shows %q of %+v", w.Content, got)
		}
	}
}

// Looking ahead finds likelier answers than sampling does that may compute as many tokens and
// keeps its likeliest answer.
func TestLookahead_BeatsSampling(t *testing.T) {
	const most, width, length = 24, 3, 12
	o, h := newOracle(t, builtInModel), hosts.SharedWithExamples(t, "lookahead")
	better, worse, looking, drawing := 0, 0, 0.0, 0.0
	for i := range 100 {
		prompt := o.tokens(fmt.Sprintf("%s %s", openings[i%len(openings)], []string{"", "the", "a", "little", "and", "one", "Ivy", "said", "who", "day", "it", "her", "his"}[i/len(openings)]))
		w := writes(t, h, map[string]any{"prompt": prompt, "n_predict": most}, "lookahead", map[string]any{"width": width, "tokens": length})
		var got struct{ Looks int }
		w.output(t, &got)
		if len(w.Tokens) == 0 {
			continue
		}
		budget := len(w.Tokens) + got.Looks*width*length // at most that was computed besides the prompt
		found, best := o.sum(prompt, w.Tokens)/float64(len(w.Tokens)), math.Inf(-1)
		for seed := 0; budget > 0; seed++ {
			tokens, mean := sampled(t, h, prompt, most, 1000*i+seed)
			if budget -= max(1, tokens); tokens > 0 {
				best = max(best, mean)
			}
		}
		looking, drawing = looking+found/100, drawing+best/100
		switch {
		case found > best+rounding:
			better++
		case found < best-rounding:
			worse++
		}
	}
	t.Logf("the mean log-probability is %.3f, of sampled answers %.3f; %d are better, %d worse", looking, drawing, better, worse)
	if looking <= drawing || better <= worse {
		t.Errorf("the mean log-probability is %.3f, of sampled answers %.3f; %d are better, %d worse", looking, drawing, better, worse)
	}
}

// sampled draws an answer: how many tokens it has, and their mean log-probability.
func sampled(t *testing.T, h *host.Host, prompt []int32, most, seed int) (tokens int, mean float64) {
	t.Helper()
	body := must.Get(json.Marshal(map[string]any{"prompt": prompt, "max_tokens": most, "seed": seed, "temperature": 1, "samplers": []string{"temperature"}, "logprobs": 0}))(t)
	_, text := hosts.Post(t, h.URL()+"/v1/completions", string(body))
	var answer struct {
		Choices []struct {
			Logprobs struct {
				Token []float64 `json:"token_logprobs"`
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Choices) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	logs := answer.Choices[0].Logprobs.Token
	for _, l := range logs {
		mean += l / float64(len(logs))
	}
	return len(logs), mean
}
