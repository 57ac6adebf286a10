// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock/penstock/host/excerpt"
)

// HTTP is a client of one server: it streams texts over server-sent events, and calls any route.
type HTTP struct {
	URL   string // of the server, without a path
	Key   string // sent as a bearer token; empty: none
	Model string // empty: the server's own
	Chat  bool   // chat completions; else text completions, but for requests with a picture

	client *http.Client
}

// NewHTTP is a client of the server at url.
func NewHTTP(url string) *HTTP {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, maxClients
	transport.DisableCompression = true
	return &HTTP{URL: strings.TrimSuffix(url, "/"), client: &http.Client{Transport: transport}}
}

// NewSlowHTTP is a client whose connections take few bytes, the buffer's, before they are read, so
// that a server soon notices a slow reader.
func NewSlowHTTP(url string, buffer int) *HTTP {
	h, dialer := NewHTTP(url), &net.Dialer{}
	h.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			err = tcp.SetReadBuffer(buffer)
		}
		return conn, err
	}
	return h
}

// Close closes idle connections.
func (h *HTTP) Close() { h.client.CloseIdleConnections() }

// Call is a request to any route.
type Call struct {
	Method, Path string
	Key          string // in place of the client's; empty: that
	Kind         string // of the body; empty: JSON
	Body         []byte

	again bool // it may be sent twice
}

// String is the call for messages, with the beginning of its body.
func (c Call) String() string {
	body := excerpt.Of(string(c.Body), 2000)
	if c.Kind != "" {
		body = fmt.Sprintf("%d bytes of %s", len(c.Body), c.Kind)
	}
	return fmt.Sprintf("%s %s as %s %s", c.Method, c.Path, c.Key, body)
}

// Begin sends a call and returns once the headers of the answer are there. The caller closes its
// body.
func (h *HTTP) Begin(ctx context.Context, c Call) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, c.Method, h.URL+c.Path, bytes.NewReader(c.Body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", cmp.Or(c.Kind, "application/json"))
	if key := cmp.Or(c.Key, h.Key); key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	if c.again {
		// A server may close an idle connection just when it is used again. net/http then sends the
		// request anew only if it is marked as harmless to repeat; an empty list does that and is
		// not sent.
		request.Header["Idempotency-Key"] = nil
	}
	return h.client.Do(request)
}

// Answer is what came back for a call.
type Answer struct {
	Status int
	Body   []byte
}

// String is the answer for messages, with the beginning of its body.
func (a Answer) String() string {
	return fmt.Sprintf("%d %s", a.Status, excerpt.Of(string(a.Body), 4000))
}

// maxAnswer bounds the body of an answer that is read as a whole, in bytes.
const maxAnswer = 256 << 20

// Send sends a call and reads the answer to its end.
func (h *HTTP) Send(ctx context.Context, c Call) (Answer, error) {
	response, err := h.Begin(ctx, c)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(http.MaxBytesReader(nil, response.Body, maxAnswer))
	if err != nil {
		return Answer{}, fmt.Errorf("the answer broke off after %d bytes: %w", len(body), err)
	}
	return Answer{response.StatusCode, body}, nil
}

// JSON sends a body, if it is not nil, and reads the answer into a value. An answer that is not 200
// is an error.
func (h *HTTP) JSON(ctx context.Context, method, path string, body, into any) error {
	c := Call{Method: method, Path: path}
	var err error
	if body != nil {
		if c.Body, err = json.Marshal(body); err != nil {
			return err
		}
	}
	a, err := h.Send(ctx, c)
	switch {
	case err != nil:
		return err
	case a.Status != http.StatusOK:
		err = a.refused()
	case into != nil:
		err = json.Unmarshal(a.Body, into)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// Stream implements Streamer.
func (h *HTTP) Stream(ctx context.Context, r Request, arrived func(at time.Time)) (Usage, error) {
	path := "/v1/completions"
	if h.Chat || len(r.Picture) > 0 {
		path = "/v1/chat/completions"
	}
	data, err := json.Marshal(bodyOf(r, h.Model, h.Chat))
	if err != nil {
		return Usage{}, err
	}
	response, err := h.Begin(ctx, Call{Method: http.MethodPost, Path: path, Body: data, again: true})
	if err != nil {
		return Usage{}, err
	}
	defer response.Body.Close() //nolint:errcheck // nothing was written
	if response.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(response.Body, maxEvent)) // what came is all there is to say
		return Usage{}, Answer{response.StatusCode, data}.refused()
	}
	return readStream(response.Body, arrived)
}

// refused is the error of an answer whose status is not that of one.
func (a Answer) refused() error {
	status := fmt.Sprint(a.Status, " ", http.StatusText(a.Status))
	var c chunk
	if json.Unmarshal(a.Body, &c) == nil && c.Error != nil {
		return fmt.Errorf("%w: %s: %s", ErrServer, status, c.Error.Message)
	}
	return fmt.Errorf("%w: %s: %q", ErrServer, status, excerpt.Of(string(a.Body), 500))
}

// errDone tells that a stream was read to its end.
var errDone = errors.New("done")

// readStream reads an answer to its end. The time of a piece of text is that of the read that
// brought its last byte.
func readStream(from io.Reader, arrived func(at time.Time)) (Usage, error) {
	var (
		split    events
		told     Usage
		finished bool
		buffer   [32 << 10]byte
	)
	for {
		n, readErr := from.Read(buffer[:])
		at := time.Now()
		short, err := split.feed(buffer[:n], func(data []byte) error {
			if string(data) == "[DONE]" {
				return errDone
			}
			c, err := parseChunk(data)
			if err != nil {
				return err
			}
			if c.Error != nil {
				return fmt.Errorf("%w: %s", ErrServer, c.Error.Message)
			}
			if c.Usage != nil {
				told = c.Usage.usage()
			}
			if c.hasText() {
				arrived(at)
			}
			finished = finished || c.finished()
			return nil
		})
		switch {
		case errors.Is(err, errDone) || err == nil && errors.Is(readErr, io.EOF) && finished:
			return told, nil
		case err != nil:
			return told, err
		case !short:
			return told, fmt.Errorf("%w: an event is longer than %d bytes", ErrServer, maxEvent)
		case errors.Is(readErr, io.EOF):
			return told, fmt.Errorf("%w: the stream broke off", ErrServer)
		case readErr != nil:
			return told, readErr
		}
	}
}

// body is a request as OpenAI has it, with ignore_eos, which llama-server and Penstock know.
type body struct {
	Model         string         `json:"model,omitempty"`
	Prompt        string         `json:"prompt,omitempty"`
	Messages      []message      `json:"messages,omitempty"`
	MaxTokens     int            `json:"max_tokens"`
	Temperature   float64        `json:"temperature"`
	Seed          uint32         `json:"seed"`
	IgnoreEOS     bool           `json:"ignore_eos"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options,omitempty"`

	Plugins json.RawMessage `json:"plugins,omitempty"`
	Schema  json.RawMessage `json:"json_schema,omitempty"` // as llama-server and Penstock have it on every route
}

type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a text, or a list of part
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

func bodyOf(r Request, model string, chat bool) body {
	b := body{Model: model, MaxTokens: r.MaxTokens, Temperature: r.Temperature, Seed: r.Seed, IgnoreEOS: !r.MayEnd,
		Stream: true, StreamOptions: &streamOptions{IncludeUsage: true}, Plugins: r.Plugins, Schema: r.Schema}
	switch {
	case len(r.Picture) > 0:
		picture := imageURL{"data:image/png;base64," + base64.StdEncoding.EncodeToString(r.Picture)}
		b.Messages = []message{{"user", []part{{Type: "image_url", ImageURL: &picture}, {Type: "text", Text: r.Prompt}}}}
	case chat:
		b.Messages = []message{{"user", r.Prompt}}
	default:
		b.Prompt = r.Prompt
	}
	return b
}

// chunk is an event of a streamed answer, of a text or a chat completion.
type chunk struct {
	Choices []struct {
		Text  string `json:"text"`
		Delta struct {
			Content   string `json:"content"`
			Reasoning string `json:"reasoning_content"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage     `json:"usage"`
	Error *errorBody `json:"error"`
}

type usage struct {
	Prompt    int `json:"prompt_tokens"`
	Generated int `json:"completion_tokens"`
	Details   struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func (u usage) usage() Usage {
	return Usage{Prompt: u.Prompt, Cached: u.Details.Cached, Generated: u.Generated}
}

// errorBody is OpenAI's error object.
type errorBody struct {
	Message string `json:"message"`
}

// hasText reports whether the event carries text of the answer.
func (c *chunk) hasText() bool {
	for _, choice := range c.Choices {
		if choice.Text != "" || choice.Delta.Content != "" || choice.Delta.Reasoning != "" {
			return true
		}
	}
	return false
}

// finished reports whether the event says why the answer ended.
func (c *chunk) finished() bool {
	return len(c.Choices) > 0 && c.Choices[0].FinishReason != ""
}

func parseChunk(data []byte) (chunk, error) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return chunk{}, fmt.Errorf("%w: an event is not JSON: %w: %q", ErrServer, err, excerpt.Of(string(data), 200))
	}
	return c, nil
}

// maxEvent bounds a line of an event stream, in bytes.
const maxEvent = 1 << 20

// events splits a stream of server-sent events, fed as it arrives, into the data of its events.
// Each event of these APIs has one data line; other fields and comments are passed over.
type events struct {
	rest []byte // an unfinished line
}

// feed takes the next bytes and calls each with the data of every event line they complete. It
// reports whether the stream can be gone on with: a line may not be longer than maxEvent.
func (e *events) feed(p []byte, each func(data []byte) error) (bool, error) {
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			e.rest = append(e.rest, p...)
			return len(e.rest) <= maxEvent, nil
		}
		line := p[:end]
		if len(e.rest) > 0 {
			line = append(e.rest, line...)
		}
		p, e.rest = p[end+1:], e.rest[:0]
		data, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\r")), []byte("data:"))
		if !ok {
			continue
		}
		if err := each(bytes.TrimPrefix(data, []byte(" "))); err != nil {
			return true, err
		}
	}
}

// Metrics is what a server says at /metrics.
type Metrics string

// Metrics asks the server for them.
func (h *HTTP) Metrics(ctx context.Context) (Metrics, error) {
	a, err := h.Send(ctx, Call{Method: http.MethodGet, Path: "/metrics"})
	if err == nil && a.Status != http.StatusOK {
		err = a.refused()
	}
	if err != nil {
		return "", fmt.Errorf("GET /metrics: %w", err)
	}
	return Metrics(a.Body), nil
}

// Sum adds up a metric over all its series that have the labels, each such as `part="copy"`; known
// is false where there is none.
func (m Metrics) Sum(name string, labels ...string) (sum float64, known bool) {
	for line := range strings.Lines(string(m)) {
		rest, ok := strings.CutPrefix(line, name)
		at := strings.LastIndexByte(rest, ' ')
		lacks := func(label string) bool { return !strings.Contains(rest[:at], label) }
		if !ok || at < 0 || rest[0] != ' ' && rest[0] != '{' || slices.ContainsFunc(labels, lacks) {
			continue
		}
		value, _ := strconv.ParseFloat(strings.TrimSpace(rest[at:]), 64) // what is no number counts nothing
		sum, known = sum+value, true
	}
	return sum, known
}

// Ticks is what the ticks of a Penstock server took during a run, by its metrics: the mean of each
// part, in milliseconds.
type Ticks struct {
	Count  float64 `json:"count"`
	Launch float64 `json:"launch_ms"` // of forward passes, with what the CPU computes
	Wait   float64 `json:"wait_ms"`   // for devices
	Copy   float64 `json:"copy_ms"`   // of logits from devices
	Sample float64 `json:"sample_ms"`
	Other  float64 `json:"other_ms"` // the scheduler's own time
}

// allTicks is what all ticks of a server took so far, of all models: sums, not means. It is nil if
// the server does not tell, or if there is none.
func (h *HTTP) allTicks(ctx context.Context) *Ticks {
	if h == nil {
		return nil
	}
	m, err := h.Metrics(ctx)
	count, known := m.Sum("penstock_tick_seconds_count", `phase="forward"`) // each tick has a time for each phase
	if err != nil || !known {
		return nil
	}
	milliseconds := func(name, label string) float64 {
		seconds, _ := m.Sum(name, label)
		return 1000 * seconds
	}
	part := func(name string) float64 {
		return milliseconds("penstock_pass_seconds_total", fmt.Sprintf("part=%q", name))
	}
	phase := func(name string) float64 {
		return milliseconds("penstock_tick_seconds_sum", fmt.Sprintf("phase=%q", name))
	}
	t := &Ticks{Count: count, Launch: part("launch"), Wait: part("wait"), Copy: part("copy"), Sample: phase("sample")}
	t.Other = phase("forward") + phase("other") - t.Launch - t.Wait - t.Copy
	return t
}

// since is the means of the ticks between two looks at the sums; nil if there were none.
func (t *Ticks) since(before *Ticks) *Ticks {
	if t == nil || before == nil || t.Count <= before.Count {
		return nil
	}
	n := t.Count - before.Count
	return &Ticks{n, (t.Launch - before.Launch) / n, (t.Wait - before.Wait) / n, (t.Copy - before.Copy) / n,
		(t.Sample - before.Sample) / n, (t.Other - before.Other) / n}
}
