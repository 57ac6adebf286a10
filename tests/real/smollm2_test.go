// SPDX-License-Identifier: MIT

// Package real has tests with models that people have trained, since what only met models of our
// own making is not known to work. scripts/models.sh fetches them.
package real

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tests/peer"
	"github.com/penstock/penstock/tools/steadytest"
)

func TestMain(m *testing.M) { hosts.Main(m) }

// smolLM2 is the path of SmolLM2-135M-Instruct in Q4_1, from the folder of this package.
const smolLM2 = "../../build/models/smollm2-135m-q4_1.gguf"

// gemma3 is that of Gemma 3 270M in Q4_K_M, whose terms are Gemma's: it is for tests only.
const gemma3 = "../../build/models/gemma3-270m-q4_k_m.gguf"

// doubt is how far apart the logarithms of two tokens' probabilities have to be for all CPUs to
// agree on the likelier. With weights of 4 bits they differ by 0.1 and more in either.
const doubt = 0.3

// question is a request that llama-server and Penstock both take, and where it goes.
type question struct{ path, body string }

// questions have answers of whose first tokens, at least, the model is sure.
var questions = []question{
	chatOf("Name the days of the week."),
	chatOf("List the months of the year."),
	{"/completion", `{"prompt":"1, 2, 3, 4, 5, 6, 7,","n_predict":32,"n_probs":2,"temperature":0}`},
	{"/completion", `{"prompt":"def fibonacci(n):\n    if n <= 1:\n        return n\n    return fibonacci(","n_predict":32,"n_probs":2,"temperature":0}`},
}

func chatOf(text string) question {
	return question{"/v1/chat/completions", fmt.Sprintf(`{"messages":[{"role":"user","content":%q}],"max_tokens":32,"logprobs":true,"top_logprobs":2,"temperature":0}`, text)}
}

// answer is what a question got.
type answer struct {
	text   string
	tokens []token
	cached int // tokens of the prompt that were not computed again
}

// token is one of an answer, with the probabilities of the two likeliest.
type token struct {
	Token string
	Top   []struct {
		Token   string
		Logprob float64
	} `json:"top_logprobs"`
}

// logprob is that of one of the likeliest tokens; NaN: it is none of them.
func (t token) logprob(text string) float64 {
	for _, top := range t.Top {
		if top.Token == text {
			return top.Logprob
		}
	}
	return math.NaN()
}

// read takes an answer apart.
func read(t *testing.T, q question, status int, body string) (a answer) {
	t.Helper()
	var said struct {
		Content string
		Probs   []token `json:"completion_probabilities"`
		Choices []struct {
			Message  struct{ Content string }
			Logprobs struct{ Content []token }
		}
		Usage struct {
			Prompt struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
		Timings struct { // "tokens_cached" counts the answer's, too
			Cached int `json:"cache_n"`
		}
	}
	if err := json.Unmarshal([]byte(body), &said); err != nil || status != http.StatusOK {
		t.Errorf("%s %s: %d %s", q.path, q.body, status, body)
		return answer{}
	}
	if len(said.Choices) == 0 {
		return answer{said.Content, said.Probs, said.Timings.Cached}
	}
	c := said.Choices[0]
	return answer{c.Message.Content, c.Logprobs.Content, said.Usage.Prompt.Cached}
}

// agrees compares an answer with llama-server's and tells how many tokens agree. From where they
// differ in a token of which llama-server was not sure, or which is in both about as likely as the
// other's, they may go on differently.
func (want answer) agrees(t *testing.T, how string, q question, got answer) (tokens int) {
	t.Helper()
	for i, w := range want.tokens {
		if i < len(got.tokens) && got.tokens[i].Token == w.Token {
			continue
		}
		if i == len(got.tokens) && got.text == want.text { // llama-server counts the token that ends an answer
			return i
		}
		if i < len(got.tokens) && math.Abs(w.logprob(w.Token)-got.tokens[i].logprob(w.Token)) <= doubt &&
			math.Abs(w.logprob(got.tokens[i].Token)-got.tokens[i].logprob(got.tokens[i].Token)) <= doubt {
			return i
		}
		if len(w.Top) < 2 || w.Top[0].Logprob-w.Top[1].Logprob > doubt {
			t.Errorf("%s: %s\nthe answer differs at token %d: %q\nllama-server's %q", how, q.body, i, got.text, want.text)
		}
		return i
	}
	return len(want.tokens)
}

// opened is a host with a model.
func opened(t *testing.T, model string, change map[string]any) *host.Host {
	t.Helper()
	if _, err := os.Stat(model); err != nil {
		t.Fatalf("%v: `make models` fetches it", err)
	}
	keys := map[string]any{"model.path": model, "model.threads": "2"}
	for k, v := range change {
		keys[k] = v
	}
	h := hosts.Open(t, keys)
	hosts.Run(t, h)
	return h
}

// reference are llama-server's answers.
func reference(t *testing.T, model string) []answer {
	t.Helper()
	server := peer.LlamaServer(t, filepath.Join("build", "models", filepath.Base(model)))
	var all []answer
	for _, q := range questions {
		r := server.Call(t, http.MethodPost, q.path, q.body)
		all = append(all, read(t, q, r.Status, r.Body))
	}
	return all
}

// ask asks all questions, times over and at once; longer are pairs of what is replaced in them.
func ask(t *testing.T, h *host.Host, times int, longer ...string) [][]answer {
	t.Helper()
	all := make([][]answer, times)
	var group sync.WaitGroup
	for i := range all {
		all[i] = make([]answer, len(questions))
		for j, q := range questions {
			group.Go(func() {
				status, body := hosts.Post(t, h.URL()+q.path, strings.NewReplacer(longer...).Replace(q.body))
				all[i][j] = read(t, q, status, body)
			})
		}
	}
	group.Wait()
	return all
}

// SmolLM2 answers as llama-server has it answer.
func TestSmolLM2_AnswersAsLlamaServer(t *testing.T) { answersAsLlamaServer(t, smolLM2) }

// Gemma is of another kind: it looks back through a window, and its tokens are SentencePiece's.
// Its file has no chat template.
func TestGemma3_AnswersAsLlamaServer(t *testing.T) {
	if !steadytest.Long() {
		t.Skip("`make test-long` fetches it, and tries it")
	}
	answersAsLlamaServer(t, gemma3)
}

// answersAsLlamaServer compares answers alone, among 16 streams, from the prefix cache, with and
// without drafts by lookup, after preemptions.
func answersAsLlamaServer(t *testing.T, model string) {
	t.Helper()
	want := reference(t, model)
	compare := func(how string, got []answer) {
		t.Helper()
		tokens := 0
		for i, a := range got {
			tokens += want[i].agrees(t, how, questions[i], a)
		}
		if t.Logf("%s: %d tokens agree", how, tokens); tokens < 40 {
			t.Errorf("%s: of %d answers only %d tokens were compared", how, len(questions), tokens)
		}
	}
	h := opened(t, model, map[string]any{"scheduler.slots": "16", "model.ctx_size": "8192"})
	var alone, again []answer
	for _, into := range []*[]answer{&alone, &again} {
		for _, q := range questions {
			status, body := hosts.Post(t, h.URL()+q.path, q.body)
			*into = append(*into, read(t, q, status, body))
		}
	}
	compare("alone", alone)
	compare("from the prefix cache", again)
	for i, a := range again {
		if a.cached == 0 {
			t.Errorf("nothing of %s was cached", questions[i].body)
		}
	}
	for _, all := range ask(t, h, 4) {
		compare("among 16 streams", all)
	}

	plain := opened(t, model, map[string]any{"speculation.type": "none", "scheduler.slots": "4", "model.ctx_size": "2048"})
	compare("without drafts", ask(t, plain, 1)[0])

	// Eight answers of up to 120 tokens have cells for two of them. Two answers that begin together
	// and are each nearly as long as all cells lead to a preemption, whenever the eight come.
	small := opened(t, model, map[string]any{"scheduler.slots": "8", "model.ctx_size": "320", "model.kv_layout": "shared"})
	var group sync.WaitGroup
	group.Go(func() {
		status, body := hosts.Post(t, small.URL()+"/v1/completions",
			`{"prompt":["Once upon a time","There was a king"],"max_tokens":300,"ignore_eos":true,"temperature":0}`)
		if status != http.StatusOK {
			t.Errorf("two long answers: %d %s", status, body)
		}
	})
	for _, all := range ask(t, small, 2, `"max_tokens":32`, `"max_tokens":120`, `"n_predict":32`, `"n_predict":120`) {
		compare("with few cells", all)
	}
	group.Wait()
	if n := hosts.Metric(t, small, "penstock_num_preemptions_total", ".*"); n < 1 {
		t.Errorf("with few cells there were %v preemptions", n)
	}
}

// What SmolLM2 writes freely under a schema is of it.
func TestSmolLM2_Schema(t *testing.T) {
	h := opened(t, smolLM2, map[string]any{"scheduler.slots": "4", "model.ctx_size": "4096"})
	const body = `{"messages":[{"role":"user","content":"Invent a person."}],"max_tokens":120,"temperature":0.8,"seed":%d,"response_format":{"type":"json_schema",
		"json_schema":{"name":"person","strict":true,"schema":{"type":"object","additionalProperties":false,"required":["name","age","hobbies"],"properties":{
		"name":{"type":"string","maxLength":20},"age":{"type":"integer","minimum":1,"maximum":120},
		"hobbies":{"type":"array","minItems":1,"maxItems":3,"items":{"enum":["chess","football","music","reading"]}}}}}}}`
	texts := make([]string, 4)
	var group sync.WaitGroup
	for i := range texts {
		group.Go(func() {
			text, err := hosts.Whole(t, h, fmt.Sprintf(body, i))
			if err != nil {
				t.Error(err)
			}
			texts[i] = text
		})
	}
	group.Wait()
	for _, text := range texts {
		var person struct {
			Name    string
			Age     int
			Hobbies []string
		}
		unknown := func(hobby string) bool { return !strings.Contains(" chess football music reading ", " "+hobby+" ") }
		if err := json.Unmarshal([]byte(text), &person); err != nil || person.Age < 1 || person.Age > 120 || len(person.Hobbies) < 1 || len(person.Hobbies) > 3 ||
			slices.ContainsFunc(person.Hobbies, unknown) {
			t.Errorf("%v: %s", err, text)
		}
	}
}
