// SPDX-License-Identifier: MIT

package models

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// greedy is a request whose answer is the same each time.
const greedy = `{` + hosts.Frog + `,"temperature":0,"max_tokens":40}`

func contentOf(t *testing.T, text string) string {
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Choices) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	return answer.Choices[0].Message.Content
}

// The model lies on two workers, and its answers are those of a model that lies here.
func TestHost_Workers(t *testing.T) {
	local := hosts.Open(t, map[string]any{"model.kernels": "ggml"})
	hosts.Run(t, local)
	status, text := hosts.Post(t, local.URL()+"/v1/chat/completions", greedy)
	if status != 200 {
		t.Fatal(status, text)
	}
	want := contentOf(t, text)

	one, two := hosts.StartWorker(t), hosts.StartWorker(t)
	h := hosts.Open(t, map[string]any{"workers.rpc": []string{one.Address, two.Address}, "model.tensor_split": "1,1", "model.kernels": "ggml"})
	hosts.Run(t, h)
	if status, text = hosts.Post(t, h.URL()+"/v1/chat/completions", greedy); status != 200 || contentOf(t, text) != want {
		t.Errorf("%d: %q, here %q", status, text, want)
	}
	for _, w := range []*hosts.Worker{one, two} {
		if props := hosts.Get(t, h.URL()+"/props"); !strings.Contains(props, "CPU of "+w.Address) {
			t.Errorf("/props does not name the worker %s: %s", w.Address, props)
		}
	}
}

// A worker dies in the middle of an answer: the answer says so, what waits is kept, and is
// answered when the worker is back.
func TestHost_Workers_Lost(t *testing.T) {
	one, two := hosts.StartWorker(t), hosts.StartWorker(t)
	h := hosts.Open(t, map[string]any{"workers.rpc": []string{one.Address, two.Address}, "model.tensor_split": "1,1", "scheduler.slots": "1"})
	hosts.Run(t, h)
	for range 3 {
		r := hosts.NewRequest(t, http.MethodPost, h.URL()+"/v1/chat/completions", []byte(`{`+hosts.Frog+`,"ignore_eos":true,"max_tokens":3000,"stream":true}`))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(answer.Body)
		for range 10 {
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		waiting := make(chan string, 1)
		go func() {
			_, text := hosts.Post(t, h.URL()+"/v1/chat/completions", greedy)
			waiting <- text
		}()
		for _, queued := hosts.Requests(t, h); queued == 0; _, queued = hosts.Requests(t, h) {
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		two.Kill()
		rest, err := io.ReadAll(lines)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if !strings.Contains(string(rest), "the worker "+two.Address+" was lost") {
			t.Errorf("the answer does not say why it ended: %s", rest[max(0, len(rest)-400):])
		}
		two.Start()
		if text := <-waiting; contentOf(t, text) == "" {
			t.Errorf("the request that waited: %s", text)
		}
	}
}
