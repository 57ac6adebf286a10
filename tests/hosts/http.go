// SPDX-License-Identifier: MIT

package hosts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host"
)

// Await looks again and again until something is so.
func Await(t *testing.T, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("it did not happen")
		}
	}
}

// NewRequest makes a request with headers, which are names and values in turn.
func NewRequest(t *testing.T, method, url string, body []byte, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		t.Error(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// Send sends a request and reads the answer; it may be called from any goroutine.
func Send(t *testing.T, client *http.Client, r *http.Request) (status int, header http.Header, body string) {
	t.Helper()
	a, err := client.Do(r) //nolint:gosec // tests choose their own URLs
	if err != nil {
		t.Error(err)
		return 0, nil, ""
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Error(err)
	}
	return a.StatusCode, a.Header, string(text)
}

// Post sends JSON.
func Post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	status, _, text := Send(t, http.DefaultClient, NewRequest(t, http.MethodPost, url, []byte(body), "Content-Type", "application/json"))
	return status, text
}

// Get returns the answer to a GET.
func Get(t *testing.T, url string) string {
	t.Helper()
	_, _, text := Send(t, http.DefaultClient, NewRequest(t, http.MethodGet, url, nil))
	return text
}

// Address is the host's network address.
func Address(h *host.Host) string {
	_, address, _ := strings.Cut(h.URL(), "://")
	return address
}

// Admin sends a request with the key "secret".
func Admin(t *testing.T, h *host.Host, method, path string, wasm []byte) (int, string) {
	t.Helper()
	return AdminBy(t, http.DefaultClient, h, method, path, wasm)
}

// AdminBy is Admin by a client of the test's.
func AdminBy(t *testing.T, client *http.Client, h *host.Host, method, path string, wasm []byte) (int, string) {
	t.Helper()
	status, _, text := Send(t, client, NewRequest(t, method, h.URL()+path, wasm, "Authorization", "Bearer secret", "Content-Type", "application/wasm"))
	return status, text
}

// Metric reads a value off GET /metrics; -1: there is none. Labels are in the order of their names.
func Metric(t *testing.T, h *host.Host, name, labels string) float64 {
	t.Helper()
	line := regexp.MustCompile(`(?m)^` + name + `\{` + labels + `\} (\S+)$`)
	found := line.FindStringSubmatch(Get(t, h.URL()+"/metrics"))
	if found == nil {
		return -1
	}
	v, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Requests are how many of a host's requests have a slot, and how many wait for one.
func Requests(t *testing.T, h *host.Host) (running, waiting float64) {
	t.Helper()
	labels := `model_name="[^"]+"`
	return Metric(t, h, "penstock_num_requests_running", labels), Metric(t, h, "penstock_num_requests_waiting", labels)
}

// Complete asks for 5 tokens after "Hello", with more fields, and returns status and either the
// text or the error.
func Complete(t *testing.T, h *host.Host, fields string) (int, string, string) {
	t.Helper()
	request := map[string]json.RawMessage{"prompt": []byte(`"Hello"`), "max_tokens": []byte("5"), "temperature": []byte("0"), "ignore_eos": []byte("true")}
	if err := json.Unmarshal([]byte("{"+strings.TrimPrefix(fields, ",")+"}"), &request); err != nil {
		t.Fatalf("%s: %v", fields, err)
	}
	all, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	status, body := Post(t, h.URL()+"/v1/completions", string(all))
	var answer struct {
		Choices []struct {
			Text string `json:"text"`
		} `json:"choices"`
		Error struct {
			Code, Message, Param string
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if len(answer.Choices) == 1 {
		return status, answer.Choices[0].Text, ""
	}
	return status, answer.Error.Message, answer.Error.Code + " " + answer.Error.Param
}

// StripedPNG is a small picture whose colours depend on a seed.
func StripedPNG(t *testing.T, seed int) []byte {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, 90, 60))
	for i := range picture.Pix {
		picture.Pix[i] = byte(i * (seed + 3))
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

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

// Buffer is a buffer that several goroutines may use, such as a log's. The zero value is empty.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String is what was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
