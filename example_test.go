// SPDX-License-Identifier: MIT

package penstock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"log"
	"math"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/penstock/penstock"
)

// m is the built-in model, which the examples share; Example opens one.
var m *penstock.Model

var ctx = context.Background()

// alike has answers come out the same each time, and threads not wait for each other on a busy
// machine.
var alike = penstock.Set("model.threads", 1)

func TestMain(t *testing.M) {
	penstock.Init()
	os.Exit(run(t))
}

// run keeps the user's own folders out of the tests.
func run(t *testing.M) int {
	home, err := os.MkdirTemp("", "penstock-test-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(home) }()
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		if err := os.Setenv(name, home); err != nil {
			log.Fatal(err)
		}
	}
	if m, err = penstock.OpenBuiltIn(ctx, alike); err != nil {
		log.Fatal(err)
	}
	code := t.Run()
	if err := errors.Join(m.Close(), goleak.Find()); err != nil && code == 0 {
		log.Print(err)
		return 1
	}
	return code
}

// Open a model, ask it something, and close it. A program's main begins with penstock.Init().
func Example() {
	m, err := penstock.Open(ctx, penstock.BuiltIn, penstock.Set("model.threads", 1))
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close() //nolint:errcheck // the program ends
	answer, err := m.Chat(ctx, []penstock.Message{penstock.User("Tell me a story about a frog.")},
		penstock.Temperature(0), penstock.MaxTokens(12))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	fmt.Println(answer.FinishReason, answer.Usage.Generated, "tokens")
	// Output:
	// Once upon a time there was a frog named Ivy. Ivy
	// length 12 tokens
}

// Fifty prompts at once, as many at a time as the model has slots.
func ExampleModel_Generate() {
	var wait sync.WaitGroup
	answers := make([]penstock.Answer, 50)
	for i := range answers {
		wait.Go(func() {
			var err error
			answers[i], err = m.Generate(ctx, fmt.Sprintf("Frog %d said:", i), penstock.MaxTokens(8))
			if err != nil {
				log.Print(err)
			}
		})
	}
	wait.Wait()
	ended := 0
	for _, a := range answers {
		if a.FinishReason == "length" || a.FinishReason == "stop" {
			ended++
		}
	}
	fmt.Println(ended, "answers")
	// Output: 50 answers
}

// Print an answer while it is written.
func ExampleModel_ChatStream() {
	for token, err := range m.ChatStream(ctx, []penstock.Message{penstock.User("Tell me a story about a frog.")}, penstock.Temperature(0), penstock.MaxTokens(12)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(token.Text)
	}
	fmt.Println()
	// Output: Once upon a time there was a frog named Ivy. Ivy
}

// A conversation remembers what was said: each answer becomes a message of it. What the model has
// read it does not read again.
func ExampleModel_Chat() {
	messages := []penstock.Message{penstock.System("You tell stories.")}
	for _, question := range []string{"Tell me a story about a frog.", "And one about a bird."} {
		messages = append(messages, penstock.User(question))
		answer, err := m.Chat(ctx, messages, penstock.Temperature(0), penstock.MaxTokens(8))
		if err != nil {
			log.Fatal(err)
		}
		messages = append(messages, answer.Message())
		fmt.Println(answer.Text)
	}
	// Output:
	// Once upon a time there was a frog
	// Once upon a time there was a bird
}

// The answer is JSON of a Go type.
func ExampleSchema() {
	type Animal struct {
		Kind  string `json:"kind" jsonschema:"what it is"`
		Legs  int    `json:"legs"`
		Green bool   `json:"green"`
	}
	answer, err := m.Chat(ctx, []penstock.Message{penstock.User("Describe a frog.")},
		penstock.Schema(Animal{}), penstock.Temperature(0), penstock.MaxTokens(60), penstock.Sampling(func(p *penstock.Params) { p.Complete = true }))
	if err != nil {
		log.Fatal(err)
	}
	var animal Animal
	if err := json.Unmarshal([]byte(answer.Text), &animal); err != nil {
		log.Fatal(err)
	}
	fmt.Println(animal.Kind != "")
	// Output: true
}

// withTools is a chat template that has tools.
const withTools = `{% if tools %}{% for t in tools %}{{ t | tojson }}{% endfor %}{% endif %}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}
{%- for c in m.tool_calls %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`

// The model has the program call a function, and goes on with what came of it.
func ExampleTools() {
	type City struct {
		Name string `json:"name" jsonschema:"of the city"`
	}
	weather := penstock.Tool{Name: "weather", Description: "The weather in a city.", Parameters: City{}}
	messages := []penstock.Message{penstock.User("How is the weather in Paris?")}
	m, err := penstock.OpenBuiltIn(ctx, alike, penstock.Set("chat.template", withTools)) // the built-in model has learnt no tools
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close() //nolint:errcheck // the program ends
	answer, err := m.Chat(ctx, messages, penstock.Tools(weather), penstock.ToolChoice("weather"), penstock.Temperature(0), penstock.MaxTokens(80),
		penstock.Sampling(func(p *penstock.Params) { p.Complete = true }))
	if err != nil {
		log.Fatal(err)
	}
	messages = append(messages, answer.Message())
	for _, call := range answer.ToolCalls {
		var city City
		if err := json.Unmarshal([]byte(call.Arguments), &city); err != nil {
			log.Fatal(err)
		}
		fmt.Println("called", call.Name)
		messages = append(messages, penstock.ToolResult(call, "sunny, 21 degrees"))
	}
	answer, err = m.Chat(ctx, messages, penstock.Tools(weather), penstock.MaxTokens(16))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("then it says something:", answer.Text != "")
	// Output:
	// called weather
	// then it says something: true
}

// The text that is nearest to a question.
func ExampleModel_Embed() {
	texts := []string{"The frog jumps into the pond.", "Prices rose by two percent.", "A small green frog sat in the pond."}
	vectors, err := m.Embed(ctx, append(texts, "A frog sat by the pond.")...)
	if err != nil {
		log.Fatal(err)
	}
	question := vectors[len(texts)]
	best, at := math.Inf(-1), 0
	for i, vector := range vectors[:len(texts)] {
		product := 0.0 // of two vectors of length 1: the cosine
		for j := range vector {
			product += float64(vector[j] * question[j])
		}
		if product > best {
			best, at = product, i
		}
	}
	fmt.Println(texts[at])
	// Output: A small green frog sat in the pond.
}

// Any number of texts, as they come. The next are computed while a vector is used.
func ExampleModel_EmbedStream() {
	lines, longest := 0, 0
	for vector, err := range m.EmbedStream(ctx, strings.Lines("The frog jumps into the pond.\nPrices rose by two percent.\n")) {
		if err != nil {
			log.Fatal(err)
		}
		lines, longest = lines+1, max(longest, len(vector))
	}
	fmt.Println(lines, longest > 0)
	// Output: 2 true
}

// A WebAssembly plugin, with its configuration: here one that takes phrases back.
func ExamplePlugins() {
	module, err := os.ReadFile("host/plugin/examples/testdata/v1/banned-phrases.wasm")
	if err != nil {
		log.Fatal(err)
	}
	answer, err := m.Chat(ctx, []penstock.Message{penstock.User("Tell me a story about a frog.")}, penstock.Temperature(0), penstock.MaxTokens(30),
		penstock.Plugins(penstock.Plugin{Module: module, Config: map[string]any{"phrases": []string{"frog"}}}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("has a frog:", strings.Contains(answer.Text, "frog"))
	// Output: has a frog: false
}

// Beam search, as a script that owns the request: the two likeliest of all continuations are kept
// at each step.
func ExamplePlugins_beamSearch() {
	const beam = `
		export const plugin = { branches: 4 };
		export function run(r) {
			const width = 2, from = r.promptTokens;
			let beams = [{ branch: r.prompt(), score: 0 }];
			for (let n = 0; n < r.maxTokens; n++) {
				r.wait(beams.map(b => b.branch), width);
				const next = beams.flatMap(b => b.branch.best(width).map(t => ({ of: b, id: t.id, score: b.score + t.logprob })))
					.sort((a, b) => b.score - a.score).slice(0, width);
				const grown = next.map(t => ({ branch: t.of.branch.fork(), id: t.id, score: t.score }));
				beams.forEach(b => b.branch.close());
				grown.forEach(b => b.branch.append([b.id]));
				beams = grown;
			}
			r.show(beams[0].branch.tokens(from));
		}`
	answer, err := m.Generate(ctx, "Once upon a time", penstock.MaxTokens(8), penstock.Plugins(penstock.Plugin{Script: beam}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	// Output: there was a curious lion named Ivy.
}

// Ask about a picture.
func ExampleUser() {
	sees, err := penstock.Open(ctx, penstock.BuiltInVision, alike)
	if err != nil {
		log.Fatal(err)
	}
	defer sees.Close() //nolint:errcheck // the program ends
	picture := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		c := color.RGBA{255, 255, 255, 255}
		if x, y := i%64-32, i/64-32; x*x+y*y < 400 {
			c = color.RGBA{220, 30, 30, 255}
		}
		picture.Set(i%64, i/64, c)
	}
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		log.Fatal(err)
	}
	answer, err := sees.Chat(ctx, []penstock.Message{penstock.User("What is in the picture?", file.Bytes())}, penstock.Temperature(0), penstock.MaxTokens(20))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	// Output: A red circle.
}

// Whoever leaves the loop ends the answer. So does whoever cancels the context.
func ExampleModel_Stream() {
	n := 0
	for token, err := range m.Stream(ctx, "Once upon a time", penstock.Temperature(0), penstock.Sampling(func(p *penstock.Params) { p.IgnoreEOS = true })) {
		if err != nil {
			log.Fatal(err)
		}
		if token.ID >= 0 {
			n++
		}
		if n == 5 {
			break
		}
	}
	fmt.Println(n, "tokens")

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err := m.Generate(canceled, "Once upon a time")
	fmt.Println(err)
	// Output:
	// 5 tokens
	// context canceled
}

// Steer an answer while it is written: from some token on the model writes nothing but sevens.
func ExampleModel_Live() {
	seven, err := m.Tokenize(ctx, "7")
	if err != nil {
		log.Fatal(err)
	}
	live, err := m.Live(ctx, penstock.Text("Once upon a time"), penstock.MaxTokens(200))
	if err != nil {
		log.Fatal(err)
	}
	n := 0
	for token, err := range live.Tokens() {
		if n++; n == 5 {
			err = live.Set(ctx, func(p *penstock.Params) {
				p.LogitBias = fmt.Appendf(nil, `{"%d": 100}`, seven[len(seven)-1])
			})
		}
		if err != nil {
			log.Fatal(err)
		}
		if token.End != nil {
			fmt.Println(strings.HasSuffix(token.End.Text, "77777777"))
		}
	}
	// Output: true
}

// Read in bulk: all tokens that have come, without an allocation.
func ExampleLive_Drain() {
	live, err := m.Live(ctx, penstock.Text("Once upon a time"), penstock.Temperature(0), penstock.MaxTokens(12))
	if err != nil {
		log.Fatal(err)
	}
	var text strings.Builder
	var tokens [64]penstock.Token // for any number of answers
	for {
		n, err := live.Drain(tokens[:])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		for _, token := range tokens[:n] {
			text.WriteString(token.Text)
		}
	}
	fmt.Printf("%q\n", text.String())
	// Output: " there was a quiet lion named Finn. Finn lived near the"
}

// Tell what becomes of all requests.
func ExampleModel_Listen() {
	ended := make(chan penstock.Ended, 1)
	stop := m.Listen(penstock.Listener{Ended: func(e penstock.Ended) { ended <- e }})
	defer stop()
	if _, err := m.Generate(ctx, "Once upon a time", penstock.Temperature(0), penstock.MaxTokens(5)); err != nil {
		log.Fatal(err)
	}
	e := <-ended
	fmt.Println(e.Usage.Generated, "tokens:", e.Reason)
	// Output: 5 tokens: length
}

// A Go function changes the logits: here it forbids a letter.
func ExampleLogits() {
	size := m.Info().Vocabulary.Size
	var forbidden []int32
	for id := range int32(size) {
		if text, err := m.Detokenize([]int32{id}); err == nil && strings.ContainsAny(text, "eE") {
			forbidden = append(forbidden, id)
		}
	}
	answer, err := m.Generate(ctx, "Once upon a time", penstock.Temperature(0), penstock.MaxTokens(16), penstock.Logits(func(_ []int32, logits []float32) {
		for _, id := range forbidden {
			logits[id] = float32(math.Inf(-1))
		}
	}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.ContainsAny(answer.Text, "eE"))
	// Output: false
}

// What the model does, for a person and for Prometheus.
func ExampleModel_Metrics() {
	if _, err := m.Generate(ctx, "Once", penstock.MaxTokens(1)); err != nil {
		log.Fatal(err)
	}
	page := httptest.NewRecorder()
	m.Metrics().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	fmt.Println(m.Stats().Cells > 0, strings.Contains(page.Body.String(), "penstock_request_success_total"))
	// Output: true true
}

// What is wrong with a request has a type.
func ExamplePromptTooLong() {
	_, err := m.Generate(ctx, strings.Repeat("frog ", m.Info().Context))
	var long *penstock.PromptTooLong
	if errors.As(err, &long) {
		fmt.Println(long.Code, long.Context == m.Info().Context)
	}
	// Output: context_length_exceeded true
}
