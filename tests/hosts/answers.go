// SPDX-License-Identifier: MIT

package hosts

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/host"
)

// Questions are what the built-in model answers in several ways.
var Questions = []string{
	"Tell me a story about a frog.", "What is the capital of Japan?", "Describe a cat as JSON.", "What is 7 plus 5?", "Tell me a story about a mouse.",
}

// AskNumber is the body of the n-th question, each with its own seed; every third is greedy.
func AskNumber(n int, fields string) string {
	return fmt.Sprintf(`{"messages":[{"role":"user","content":%q}],"max_tokens":60,"seed":%d,"temperature":%d%s}`, Questions[n%len(Questions)], n, n%3, fields)
}

// Streamed asks and returns the text that a client puts together of what it was shown, which it
// cannot take back.
func Streamed(t *testing.T, h *host.Host, request string) (string, error) {
	status, body := Post(t, h.URL()+"/v1/chat/completions", strings.TrimSuffix(request, "}")+`,"stream":true}`)
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

// Whole asks and returns the text of the answer.
func Whole(t *testing.T, h *host.Host, request string) (string, error) {
	status, body := Post(t, h.URL()+"/v1/chat/completions", request)
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 || len(answer.Choices) != 1 {
		return "", fmt.Errorf("%d %s: %w", status, body, err)
	}
	return answer.Choices[0].Message.Content, nil
}

// EightAtOnce calls f with 0 … n − 1, from eight goroutines.
func EightAtOnce(n int, f func(i int)) {
	numbers := make(chan int)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range numbers {
				f(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	group.Wait()
}
