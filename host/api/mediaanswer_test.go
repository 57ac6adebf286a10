// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/tools/must"
)

// rowsOf is how many embeddings the toy makes of a file.
func rowsOf(file []byte) int {
	hash := sha256.Sum256(file)
	return 2 + int(hash[0])%5
}

// rowsHere are those of the picture and of the sound of the tests.
func rowsHere(t testing.TB) (picture, sound int) {
	heard := must.Get(base64.StdEncoding.DecodeString(aSound))(t)
	return rowsOf(aPicture(t)), rowsOf(heard)
}

// read is the last submitted prompt as a person reads it, with a dot for each embedding.
func (s *seeing) read() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, t := range s.prompt {
		if t < 0 {
			t = '.'
		}
		b.WriteByte(byte(t))
	}
	return b.String()
}

// expected is the prompt that the last conversation should have become, and how many tokens of it
// are of pictures and of sounds.
func (s *seeing) expected(t testing.TB) (prompt string, pictures, sounds int) {
	picture, sound := rowsHere(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := s.last.Media
	for _, m := range s.last.Messages {
		prompt += m.Role + ":"
		for i, text := range strings.Split(m.Content, media.Marker) {
			if i > 0 && parts[0].Kind == media.Audio {
				prompt += strings.Repeat(".", sound)
				sounds += sound
			} else if i > 0 {
				prompt += "<" + strings.Repeat(".", picture) + ">"
				pictures += picture + 2
			}
			if i > 0 {
				parts = parts[1:]
			}
			prompt += text
		}
		prompt += "\n"
	}
	return prompt, pictures, sounds
}

// lastNumber is what the last field of a name has in an answer, or in a stream.
func lastNumber(t testing.TB, answer, field string) int {
	t.Helper()
	found := regexp.MustCompile(`"`+field+`":(\d+)`).FindAllStringSubmatch(answer, -1)
	if len(found) == 0 {
		return -1
	}
	return must.Get(strconv.Atoi(found[len(found)-1][1]))(t)
}

// promptCounts are the fields that have the number of a prompt's tokens, by the route.
var promptCounts = map[string]string{
	"/v1/chat/completions": "prompt_tokens", "/v1/responses": "input_tokens", "/v1/messages": "input_tokens", "/v1/messages/count_tokens": "input_tokens",
	"/api/chat": "prompt_eval_count", "/api/generate": "prompt_eval_count", "/v1/chat/completions/input_tokens": "input_tokens", "/v1/responses/input_tokens": "input_tokens",
}

// The prompt of each dialect has its pictures where they stand, and the tokens of all of it are
// counted, streamed or not.
func TestAPI_Media_PromptsAndUsage(t *testing.T) {
	r, model := seeingRig(t, nil)
	for _, c := range mediaBodies {
		for _, fields := range []string{`{"cache_prompt":false,`, `{"cache_prompt":false,"stream":true,"stream_options":{"include_usage":true},`} {
			status, _, answer := r.call(http.MethodPost, c.path, fields+filled(t, c.body)[1:])
			if status != http.StatusOK {
				t.Fatalf("%s: %d %s", c.path, status, answer)
			}
			want, pictures, sounds := model.expected(t)
			if n := lastNumber(t, answer, promptCounts[c.path]); n != len(want) {
				t.Errorf("%s: %d tokens are told of %d: %s", c.path, n, len(want), answer)
			}
			if c.path == "/v1/messages/count_tokens" {
				continue
			}
			if diff := cmp.Diff(want, model.read()); diff != "" {
				t.Errorf("%s: the prompt\n%s", c.path, diff)
			}
			if c.path == "/v1/chat/completions" && (lastNumber(t, answer, "image_tokens") != pictures || lastNumber(t, answer, "audio_tokens") != sounds) {
				t.Errorf("of %d tokens of pictures and %d of sounds: %s", pictures, sounds, answer)
			}
		}
	}
}

// Who asks only for the number of tokens, or for the prompt's text, has nothing encoded.
func TestAPI_Media_CountedWithoutEncoding(t *testing.T) {
	r, model := seeingRig(t, nil)
	for _, c := range mediaBodies {
		path := c.path
		switch path {
		case "/v1/chat/completions", "/v1/responses":
			path += "/input_tokens"
		case "/v1/messages":
			path += "/count_tokens"
		default:
			continue
		}
		status, _, answer := r.call(http.MethodPost, path, filled(t, c.body))
		if want, _, _ := model.expected(t); status != http.StatusOK || lastNumber(t, answer, "input_tokens") != len(want) {
			t.Errorf("%s: %d %s; want %d", path, status, answer, len(want))
		}
	}
	chat := filled(t, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:;base64,P"}},{"type":"text","text":"b"}]}],"return_tokens":true}`)
	var applied struct {
		Prompt string
		Tokens []struct {
			ID    int
			Piece string
		}
	}
	r.post("/apply-template", chat, &applied)
	text := ""
	for _, token := range applied.Tokens {
		text += token.Piece
	}
	if want := "user:a" + media.Marker + "b\n"; applied.Prompt != want || text != want || len(applied.Tokens) != len("user:a<b\n") || applied.Tokens[6].ID != -1 {
		t.Errorf("%+v", applied)
	}
	long := strings.Replace(chat, `"text":"a"`, `"text":"`+strings.Repeat("a", 130)+`"`, 1)
	var told struct {
		Digests []string
		Tokens  int `json:"input_tokens"`
	}
	picture, _ := rowsHere(t)
	if r.post("/v1/chat/completions/input_tokens?digests=true", long, &told); len(told.Digests) != 2 || told.Tokens != len("user:<>b\n")+130+picture {
		t.Errorf("%+v; want the digests of two blocks before the picture", told)
	}
	if n := model.encoder.Encoded.Load(); n != 0 {
		t.Errorf("%d were encoded", n)
	}
}

// multimodal is a prompt with files as llama-server has it.
func multimodal(t testing.TB, text string, files ...string) string {
	t.Helper()
	raw := must.Get(json.Marshal(map[string]any{"prompt_string": strings.ReplaceAll(text, "<>", media.Marker), "multimodal_data": files}))(t)
	return string(raw)
}

// Prompts without a conversation have files too, one or several, each its own.
func TestAPI_Media_CompletionsPrompts(t *testing.T) {
	r, model := seeingRig(t, nil)
	picture := base64.StdEncoding.EncodeToString(aPicture(t))
	rows, heard := rowsHere(t)
	seen := "<" + strings.Repeat(".", rows) + ">"
	one := multimodal(t, "a <> b <>c", picture, aSound)
	want := "a " + seen + " b " + strings.Repeat(".", heard) + "c"
	for path, field := range map[string]string{"/completion": "tokens_evaluated", "/v1/completions": "prompt_tokens"} {
		for _, stream := range []string{"false", "true"} {
			status, _, answer := r.call(http.MethodPost, path, `{"cache_prompt":false,"prompt":`+one+`,"max_tokens":1,"stream":`+stream+`,"stream_options":{"include_usage":true}}`)
			if got := model.read(); status != http.StatusOK || got != want || lastNumber(t, answer, field) != len(want) {
				t.Errorf("%s: %d %s: the prompt is %q", path, status, answer, got)
			}
			if told := `"prompt":"a <> b c"`; path == "/completion" && !strings.Contains(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(answer), told) {
				t.Errorf("%s does not tell %s", answer, told)
			}
		}
	}
	var several struct {
		Choices []struct{ Text string }
		Usage   struct {
			Prompt  int `json:"prompt_tokens"`
			Details struct {
				Image int `json:"image_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	r.post("/v1/completions", `{"cache_prompt":false,"n":2,"max_tokens":1,"prompt":["text",[65,66],`+one+`,`+multimodal(t, "<>", picture)+`]}`, &several)
	if n := len("text") + 2 + len(want) + len(seen); len(several.Choices) != 8 || several.Usage.Prompt != n || several.Usage.Details.Image != 2*len(seen) {
		t.Errorf("%+v; want %d tokens of prompts", several, n)
	}
	for body, says := range map[string]string{
		`"echo":true,"prompt":` + one:                                         "echo is true, but the prompt has pictures or sounds",
		`"echo":true,"logprobs":1,"prompt":` + one:                            "echo is true, but the prompt has pictures or sounds",
		`"suffix":"x","prompt":` + one:                                        "suffix is set, but the prompt has pictures or sounds",
		`"prompt":` + multimodal(t, "a<>", aSound):                            "the prompt ends on a picture or a sound",
		`"prompt":["a",` + multimodal(t, "<>", aSound) + `]`:                  "the prompt ends on a picture or a sound",
		`"prompt":[65,` + multimodal(t, "<>", picture) + `]`:                  "prompt[1] must be a text or a token",
		`"prompt":` + multimodal(t, strings.Repeat("a", 2045)+"<>a", picture): "exceeds the available context size (2048 tokens)",
	} {
		before := model.encoder.Encoded.Load()
		status, _, answer := r.call(http.MethodPost, "/v1/completions", `{"max_tokens":1,`+body+`}`)
		if status != http.StatusBadRequest || !strings.Contains(answer, says) {
			t.Errorf("%.60s: %d %s; want %s", body, status, answer, says)
		}
		if model.encoder.Encoded.Load() != before && !strings.Contains(says, "ends on") {
			t.Errorf("%.60s: something was encoded", body)
		}
	}
}

// Ollama's context of an answer about a picture could not be sent back, so there is none.
func TestAPI_Media_OllamaContext(t *testing.T) {
	r, _ := seeingRig(t, nil)
	for body, has := range map[string]bool{`{"stream":false,"prompt":"a","options":{"num_predict":1}}`: true, `{"stream":false,"prompt":"a","images":["P"],"options":{"num_predict":1}}`: false} {
		status, _, answer := r.call(http.MethodPost, "/api/generate", filled(t, body))
		if status != http.StatusOK || strings.Contains(answer, `"context":`) != has {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
}

// What the encoder refuses is told in each dialect, and so is an encoder that fails.
func TestAPI_Media_EncoderRefuses(t *testing.T) {
	r, model := seeingRig(t, nil)
	var refuses error
	model.encoder.Before = func(context.Context, string) error { return refuses }
	for _, c := range mediaBodies {
		if c.path == "/v1/messages/count_tokens" {
			continue
		}
		for _, e := range []struct {
			err    error
			status int
			says   string
		}{
			{refusal.Invalid("here", "here is a picture that is too narrow"), http.StatusBadRequest, "too narrow"},
			{&refusal.Error{Kind: refusal.KindBusy, Code: "encoder_busy", Message: "too many pictures", Retry: 1}, http.StatusTooManyRequests, "too many pictures"},
		} {
			refuses = e.err
			status, _, answer := r.call(http.MethodPost, c.path, filled(t, c.body))
			if c.path == "/v1/messages" && e.status == http.StatusTooManyRequests && status == 529 {
				status = e.status // as Anthropic has it
			}
			if status != e.status || !strings.Contains(answer, e.says) {
				t.Errorf("%s: %d %s", c.path, status, answer)
			}
		}
	}
}

// A client that leaves, or cancels, while its picture is encoded, takes the encoder's time no
// longer.
func TestAPI_Media_ClientLeaves(t *testing.T) {
	began, ended := make(chan string), make(chan error)
	r, model := seeingRig(t, nil)
	model.encoder.Before = func(ctx context.Context, _ string) error {
		began <- ""
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return context.Cause(ctx)
	}
	body := filled(t, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:;base64,P"}}]}]}`)
	ctx, leave := context.WithCancel(t.Context())
	q := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/v1/chat/completions", strings.NewReader(body)))(t)
	left := make(chan struct{})
	go func() {
		defer close(left)
		if a, err := http.DefaultClient.Do(q); err == nil {
			t.Error("there is an answer:", a.Status)
			_ = a.Body.Close()
		}
	}()
	<-began
	leave()
	<-ended
	<-left
	p := r.dial()
	p.send(`{"type":"generate","id":"a","request":%s}`, body)
	<-began
	p.send(`{"type":"cancel","id":"a"}`)
	<-ended
	if f := p.next(); f.Type != "end" && f.Type != "error" || f.ID != "a" {
		t.Errorf("%+v", f)
	}
	timed := strings.Replace(body, `{`, `{"timeout_ms":50,`, 1)
	go func() {
		<-began
		<-ended
	}()
	if status, _, answer := r.call(http.MethodPost, "/v1/chat/completions", timed); !strings.Contains(answer, `"timeout"`) {
		t.Errorf("%d %s", status, answer)
	}
}

// A WebSocket's answer begins with the number of its prompt's tokens, and is forked with its
// pictures.
func TestSocket_Media_Answer(t *testing.T) {
	r, model := seeingRig(t, nil)
	p := r.dial()
	picture := aPicture(t)
	must.Do(t, p.conn.Write(t.Context(), 2, append([]byte("\x01x"), picture...)))
	p.send(`{"type":"generate","id":"a","request":{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"frame:x"}},{"type":"text","text":"?"}]}],"max_tokens":400}}`)
	started := p.until("started")
	want, pictures, _ := model.expected(t)
	if started.Prompt != len(want) {
		t.Errorf("%d tokens of %d", started.Prompt, len(want))
	}
	p.until("token")
	p.send(`{"type":"fork","id":"a","as":"b"}`)
	ends := map[string]serverFrame{}
	for len(ends) < 2 {
		f := p.until("end")
		ends[f.ID] = f
	}
	for id, f := range ends {
		if f.Usage.Prompt != len(want) || f.Usage.Details.Image != pictures {
			t.Errorf("%s: %+v", id, f.Usage)
		}
	}
	if n := model.encoder.Encoded.Load(); n != 1 {
		t.Errorf("the picture was encoded %d times", n)
	}
}
