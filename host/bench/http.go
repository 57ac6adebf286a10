// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/penstock/penstock/host/excerpt"
)

// HTTP streams over server-sent events.
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

// Close closes idle connections.
func (h *HTTP) Close() { h.client.CloseIdleConnections() }

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
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+path, bytes.NewReader(data))
	if err != nil {
		return Usage{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	// A server may close an idle connection just when it is used again. net/http then sends the
	// request anew only if it is marked as harmless to repeat; an empty list does that and is not
	// sent.
	request.Header["Idempotency-Key"] = nil
	response, err := h.send(request)
	if err != nil {
		return Usage{}, err
	}
	defer response.Body.Close() //nolint:errcheck // nothing was written
	if response.StatusCode != http.StatusOK {
		return Usage{}, refused(response)
	}
	return readStream(response.Body, arrived)
}

// send sends a request with the key.
func (h *HTTP) send(request *http.Request) (*http.Response, error) {
	if h.Key != "" {
		request.Header.Set("Authorization", "Bearer "+h.Key)
	}
	return h.client.Do(request)
}

// refused turns a response that is not an answer into an error.
func refused(response *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(response.Body, maxEvent)) // what came is all there is to say
	var c chunk
	if json.Unmarshal(data, &c) == nil && c.Error != nil {
		return fmt.Errorf("%w: %s: %s", ErrServer, response.Status, c.Error.Message)
	}
	return fmt.Errorf("%w: %s: %q", ErrServer, response.Status, excerpt.Of(string(data), 200))
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
				return c.Error.err()
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
