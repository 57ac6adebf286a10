// SPDX-License-Identifier: MIT

package host

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// banned are among what the built-in model likes to say: its openings, its names' neighbours, a sign, half of a word.
var banned = []string{"Once upon a time", " was a frog", "lived", "wanted a", " and ", "{\"", "is", "capital of"}

var questions = []string{
	"Tell me a story about a frog.", "What is the capital of Japan?", "Describe a cat as JSON.", "What is 7 plus 5?", "Tell me a story about a mouse.",
}

// askNumber is the body of the n-th question, each with its own seed; every third is greedy.
func askNumber(n int, fields string) string {
	return fmt.Sprintf(`{"messages":[{"role":"user","content":%q}],"max_tokens":60,"seed":%d,"temperature":%d%s}`, questions[n%len(questions)], n, n%3, fields)
}

// streamed asks and returns the text that a client puts together of what it was shown, which it cannot take back.
func streamed(t *testing.T, h *Host, request string) (string, error) {
	status, body := post(t, h.URL()+"/v1/chat/completions", strings.TrimSuffix(request, "}")+`,"stream":true}`)
	if status != 200 || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		return "", fmt.Errorf("%d %s", status, body)
	}
	var text strings.Builder
	for _, event := range strings.Split(strings.TrimSuffix(body, "data: [DONE]\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "data: ")
		if !ok {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
			Error   any
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil || chunk.Error != nil {
			return "", fmt.Errorf("%s: %w", data, err)
		}
		for _, c := range chunk.Choices {
			text.WriteString(c.Delta.Content)
		}
	}
	return text.String(), nil
}

func whole(t *testing.T, h *Host, request string) (string, error) {
	status, body := post(t, h.URL()+"/v1/chat/completions", request)
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 || len(answer.Choices) != 1 {
		return "", fmt.Errorf("%d %s: %w", status, body, err)
	}
	return answer.Choices[0].Message.Content, nil
}

// phrasesIn are the banned phrases that a text has.
func phrasesIn(text string) (found []string) {
	for _, phrase := range banned {
		if strings.Contains(strings.ToLower(text), strings.ToLower(phrase)) {
			found = append(found, phrase)
		}
	}
	return found
}

func banningFields(t *testing.T) string {
	t.Helper()
	list, err := json.Marshal(banned)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`,"plugins":[{"name":"banned-phrases","config":{"phrases":%s}}]`, list)
}

// Of 500 answers, nearly all have a phrase without the plugin, and none with it: also not in the deltas of a stream, put
// together, which are what a client has seen.
func TestBannedPhrases_BuiltInModel_NeverSaysThem(t *testing.T) {
	h := openWithExamples(t, "banned-phrases")
	n, fields := inLongTest(500, 50), banningFields(t)
	without := make([]string, n)
	eightAtOnce(n, func(i int) {
		var err error
		if without[i], err = streamed(t, h, askNumber(i, "")); err != nil {
			t.Error(err)
		}
		text, err := streamed(t, h, askNumber(i, fields))
		if found := phrasesIn(text); err != nil || len(found) > 0 {
			t.Errorf("answer %d has %q: %q %v", i, found, text, err)
		}
	})
	said, phrases := 0, map[string]bool{}
	for _, text := range without {
		found := phrasesIn(text)
		said += min(1, len(found))
		for _, phrase := range found {
			phrases[phrase] = true
		}
	}
	if said < n*9/10 || len(phrases) != len(banned) {
		t.Errorf("without the plugin only %d of %d answers had a phrase, and only %v came up: too little was tested", said, n, phrases)
	}
}

// Nothing that was shown is taken back: what a stream has shown is the answer that comes whole. One at a time, since how
// many are computed together may change the last bits of a logit.
func TestBannedPhrases_BuiltInModel_ShownIsFinal(t *testing.T) {
	h := openWithExamples(t, "banned-phrases")
	fields := banningFields(t)
	for i := range inLongTest(50, 10) {
		shown, err := streamed(t, h, askNumber(i, fields))
		if err != nil {
			t.Fatal(err)
		}
		text, err := whole(t, h, askNumber(i, fields))
		if err != nil {
			t.Fatal(err)
		}
		if shown != text {
			t.Errorf("answer %d was shown as %q and is %q", i, shown, text)
		}
	}
}
