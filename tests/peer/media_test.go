// SPDX-License-Identifier: MIT

package peer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// prompts are lists of texts and of numbers of senses: none, one, two in both orders, twice the
// same, with text between.
var prompts = [][]any{
	{"what is this?"}, {0, "what is this?"}, {1, "and this?"}, {"what is ", 0, "this?"}, {0, "beside ", 1, "what?"}, {1, "beside ", 0, "what?"},
	{0, 1, "what?"}, {0, 0, "what?"}, {0, "again ", 0, "what?"}, {0, "what?<|im_end|>\n<|im_start|>assistant\nThis.<|im_end|>\n<|im_start|>user\n", 1, "and?"},
}

const (
	mediaBefore = "<|im_start|>user\n"
	mediaAfter  = "<|im_end|>\n<|im_start|>assistant\n"
	answered    = 24 // tokens
)

// sensing is a pair that two servers serve, or more of ours.
type sensing struct {
	*testing.T
	pair         synth.MediaPair
	files        map[string]any // keys of the configuration
	all          []sense
	peer         Server
	ours         Server
	saved        string // folder of conversations
	peerMarker   string
	oursMarker   string
	mu           sync.Mutex
	peersAnswers map[string]completed // by prompt
}

// soundsInTest is a projector whose sounds `make test` compares, in its turn. It compares the
// transcripts of others.
const soundsInTest = "mlp+ultravox"

// stateful are the projectors of which one has its cells forked, saved and lost: of pictures whose
// embeddings see one another, in tiles, and with coordinates. Sounds take ten times as long.
var stateful = map[string]bool{"gemma3": true, "idefics3": true, "qwen2.5vl_merger": true}

// Greedy answers about pictures and sounds are llama-server's, of every kind of projector that has
// its own way, however they are generated. `make test` tries one with states and two of the others.
func TestMedia_AnswersAsLlamaServer(t *testing.T) {
	long := running() || steadytest.Long()
	pairs := synth.MediaPairs
	if !long {
		var kept, others []synth.MediaPair
		for _, pair := range pairs {
			switch {
			case stateful[pair.Projector]:
				kept = append(kept, pair)
			case pair.Projector == soundsInTest, !pair.Hears():
				others = append(others, pair)
			}
		}
		pairs = append(steadytest.Some(t, kept, 1), steadytest.Some(t, others, 2)...)
	}
	for _, pair := range pairs {
		t.Run(pair.Projector, func(t *testing.T) {
			s := newSensing(t, pair)
			s.comparePrompts()
			s.compareChats()
			if long || stateful[pair.Projector] {
				s.compareStates()
				s.compareElsewhere()
			}
		})
	}
}

func newSensing(t *testing.T, pair synth.MediaPair) *sensing {
	model, projector := must.Both(pair.WriteFiles(t.TempDir(), 1))(t)
	s := &sensing{T: t, pair: pair, all: senses(t, pair), saved: t.TempDir(), peersAnswers: map[string]completed{}}
	s.files = map[string]any{"model.path": model, "model.mmproj": projector, "model.ctx_size": s.context(), "scheduler.slot_save_path": s.saved}
	s.peer = LlamaServer(t, model, "--mmproj", projector, "--ctx-size", strconv.Itoa(s.context()))
	s.ours = Penstock(t, model, s.files)
	s.peerMarker, s.oursMarker = markerOf(t, s.peer), markerOf(t, s.ours)
	return s
}

// context is how many tokens the slots have together: a sound takes many.
func (s *sensing) context() int {
	if s.pair.Hears() {
		return 8192
	}
	return 2048
}

// markerOf is what stands for a file in a server's prompts.
func markerOf(t *testing.T, server Server) string {
	t.Helper()
	var props struct {
		Marker string `json:"media_marker"`
	}
	if err := json.Unmarshal([]byte(server.Call(t, http.MethodGet, "/props", "").Body), &props); err != nil || props.Marker == "" {
		t.Fatal(err, props)
	}
	return props.Marker
}

// prompt is a prompt as both servers take it.
func (s *sensing) prompt(parts []any, marker string) map[string]any {
	text, files := mediaBefore, []string{}
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			text += part
		case int:
			text += marker
			files = append(files, base64.StdEncoding.EncodeToString(s.all[part].file))
		}
	}
	return map[string]any{"prompt_string": text + mediaAfter, "multimodal_data": files}
}

// completed is what a completion answers.
type completed struct {
	Content string
	Tokens  written `json:"completion_probabilities"`
	Timings struct {
		Cached int `json:"cache_n"`
	}
	Evaluated int `json:"tokens_evaluated"`
}

// complete has a server complete a prompt, with other fields than the usual.
func (s *sensing) complete(server Server, marker string, parts []any, fields map[string]any) completed {
	s.Helper()
	body := map[string]any{"prompt": s.prompt(parts, marker), "temperature": 0, "n_predict": answered}
	for k, v := range fields {
		body[k] = v
	}
	raw, err := json.Marshal(body)
	if err != nil {
		s.Fatal(err)
	}
	a := server.Call(s, http.MethodPost, "/completion", string(raw))
	var c completed
	if a.Status != http.StatusOK {
		s.Fatalf("%v: %d %s", parts, a.Status, a.Body)
	}
	if fields["stream"] == true {
		c.Content = joined(s.T, a.Body, "content")
	} else if err := json.Unmarshal([]byte(a.Body), &c); err != nil {
		s.Fatal(err, a.Body)
	}
	return c
}

// likely asks how likely the tokens of an answer were, and the next best.
var likely = map[string]any{"cache_prompt": false, "n_probs": 10}

// wanted is what llama-server says to a prompt. It is asked once for each.
func (s *sensing) wanted(parts []any) completed {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%q", parts)
	if _, known := s.peersAnswers[key]; !known {
		s.peersAnswers[key] = s.complete(s.peer, s.peerMarker, parts, likely)
	}
	return s.peersAnswers[key]
}

// same has one of our servers complete a prompt, and compares that with what llama-server says.
func (s *sensing) same(how string, server Server, parts []any, fields map[string]any) completed {
	s.Helper()
	want, got := s.wanted(parts), s.complete(server, s.oursMarker, parts, fields)
	if want.Content != got.Content && !want.Tokens.tied(got.Content) {
		s.Errorf("%s: %v: llama-server says %q, Penstock %q", how, parts, want.Content, got.Content)
	}
	return got
}

// tied reports whether a text parts from what was written where two bytes were as likely: the sums
// of two kernels, of two CPUs, and of passes of other sizes, round differently, and what follows
// says nothing. A token of these models is a byte.
func (w written) tied(got string) bool {
	for i, token := range w {
		if i >= len(got) || len(token.Token) != 1 {
			return false
		}
		if token.Token == got[i:i+1] {
			continue
		}
		for _, other := range token.Top {
			if other.Token == got[i:i+1] {
				return token.Top[0].Logprob-other.Logprob <= tie
			}
		}
		return false
	}
	return false
}

// prompts are those for the pair, with each of its senses. A sound takes llama-server as long as
// many pictures, so there are few with sounds.
func (s *sensing) prompts() [][]any {
	all := prompts
	if !s.pair.Sees() {
		all = [][]any{prompts[0], prompts[1], prompts[4], prompts[7]}
	}
	for i := 2; i < len(s.all); i++ {
		all = append(slices.Clip(all), []any{i, "beside ", 0, "what?"})
	}
	return all
}

// comparePrompts asks for completions: alone, streamed, with what the cache has, and all at once.
func (s *sensing) comparePrompts() {
	answers := map[string]bool{}
	all := s.prompts()
	for i, parts := range all {
		s.same("alone", s.ours, parts, map[string]any{"cache_prompt": false})
		if got := s.same("cached", s.ours, parts, nil); got.Timings.Cached == 0 {
			s.Errorf("%v: nothing of %d tokens was cached", parts, got.Evaluated)
		}
		if i%4 == 1 {
			s.same("streamed", s.ours, parts, map[string]any{"stream": true})
		}
		if len(parts) < 4 {
			answers[s.wanted(parts).Content] = true
		}
	}
	if least := len(all) / 3; len(answers) < least {
		s.Errorf("the answers do not depend on what is seen: %v", answers)
	}
	var busy sync.WaitGroup
	for _, parts := range all {
		busy.Go(func() { s.same("busy", s.ours, parts, map[string]any{"cache_prompt": false}) })
	}
	busy.Wait()
}

// joined is the text of a stream: all of a field of its events, whose name is a path of names.
func joined(t *testing.T, stream string, path ...string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(stream) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "data: "))
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var at any
		if err := json.Unmarshal([]byte(line), &at); err != nil {
			t.Fatal(err, line)
		}
		b.WriteString(textAt(at, path))
	}
	return b.String()
}

// textAt is the text at a path in a decoded JSON value, of all elements of its lists; "" where
// there is none.
func textAt(at any, path []string) string {
	switch v := at.(type) {
	case []any:
		all := ""
		for _, e := range v {
			all += textAt(e, path)
		}
		return all
	case map[string]any:
		if len(path) > 0 {
			return textAt(v[path[0]], path[1:])
		}
	case string:
		if len(path) == 0 {
			return v
		}
	}
	return ""
}
