// SPDX-License-Identifier: MIT

package tck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Remote is a host that is reached over HTTP. It is a Host for one goroutine.
type Remote struct {
	URL      string // of the server, without a slash at the end
	AdminKey string
	Key      string       // for requests, where the server wants one; else empty
	Client   *http.Client // nil: the default

	// Own has plugins uploaded as modules of Key, for its requests alone, and not into the folder of
	// the server.
	Own bool

	uploaded []string          // names
	ids      map[string]string // of modules, by their names
}

var _ Host = (*Remote)(nil)

// Upload implements Host.
func (r *Remote) Upload(ctx context.Context, wasm []byte) error {
	var info struct {
		Name, ID string
		Manifest struct{ Name string }
	}
	if r.Own {
		if err := r.ask(ctx, http.MethodPost, "/v1/modules", r.Key, "application/wasm", wasm, &info); err != nil {
			return err
		}
		if r.ids == nil {
			r.ids = map[string]string{}
		}
		r.ids[info.Manifest.Name] = info.ID
		return nil
	}
	if err := r.ask(ctx, http.MethodPost, "/v1/plugins", r.AdminKey, "application/wasm", wasm, &info); err != nil {
		return err
	}
	r.uploaded = append(r.uploaded, info.Name)
	return nil
}

// Clean removes what was uploaded.
func (r *Remote) Clean(ctx context.Context) error {
	var errs []error
	gone := map[string]bool{}
	for _, name := range r.uploaded {
		if !gone[name] {
			errs = append(errs, r.ask(ctx, http.MethodDelete, "/v1/plugins/"+name, r.AdminKey, "", nil, nil))
		}
		gone[name] = true
	}
	for _, id := range r.ids {
		errs = append(errs, r.ask(ctx, http.MethodDelete, "/v1/modules/"+id, r.Key, "", nil, nil))
	}
	r.uploaded, r.ids = nil, nil
	return errors.Join(errs...)
}

// use is an entry of a request's plugins.
type use struct {
	Module  string          `json:"module,omitempty"`
	Name    string          `json:"name"`
	Config  json.RawMessage `json:"config,omitempty"`
	OnError string          `json:"on_error,omitempty"`
}

// Complete implements Host.
func (r *Remote) Complete(ctx context.Context, q Request, plugins []string) (Answer, error) {
	body := map[string]any{"max_tokens": MaxTokens, "seed": Seed, "temperature": 0, "ignore_eos": true}
	if len(plugins) > 0 {
		uses, chain := []use{}, []string{}
		for i, name := range plugins {
			u := use{Name: name, Module: r.ids[name]}
			if i == 0 {
				u.Config = json.RawMessage(q.Config)
			}
			if q.Skip {
				u.OnError = "skip"
			}
			uses, chain = append(uses, u), append(chain, "plugin:"+name)
		}
		body["plugins"], body["samplers"] = uses, chain
	}
	path := "/v1/completions"
	if q.Chat {
		path, body["messages"] = "/v1/chat/completions", []map[string]string{{"role": "user", "content": "Hello"}}
	} else {
		body["prompt"] = "Hello"
	}
	text, err := json.Marshal(body)
	if err != nil {
		return Answer{}, err
	}
	return r.answer(ctx, path, text)
}

func (r *Remote) answer(ctx context.Context, path string, body []byte) (Answer, error) {
	var a struct {
		Choices []struct {
			Text    string
			Message struct{ Content string }
			Reason  string `json:"finish_reason"`
			Outputs []struct {
				Plugin string
				Tokens int
				Value  json.RawMessage
			} `json:"plugin_outputs"`
		}
		Usage struct {
			Tokens int `json:"completion_tokens"`
		}
	}
	if err := r.ask(ctx, http.MethodPost, path, r.Key, "application/json", body, &a); err != nil {
		return Answer{}, err
	}
	if len(a.Choices) != 1 {
		return Answer{}, fmt.Errorf("%d choices from %s", len(a.Choices), path)
	}
	c := a.Choices[0]
	got := Answer{Text: c.Text + c.Message.Content, Tokens: a.Usage.Tokens, Reason: c.Reason}
	for _, o := range c.Outputs {
		if err := got.Describe(o.Plugin, o.Tokens, o.Value); err != nil {
			return Answer{}, err
		}
	}
	return got, nil
}

// ask makes a call; an answer of 400 or more is a *Failure with the server's words.
func (r *Remote) ask(ctx context.Context, method, path, key, kind string, body []byte, to any) (err error) {
	request, err := http.NewRequestWithContext(ctx, method, r.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", kind)
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	client := r.Client
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode >= 400:
		return failure(answer.StatusCode, text)
	case to == nil:
		return nil
	}
	return json.Unmarshal(text, to)
}

func failure(status int, text []byte) error {
	var body struct {
		Error struct{ Code, Message, Param string }
	}
	if err := json.Unmarshal(text, &body); err != nil || body.Error.Message == "" {
		return fmt.Errorf("status %d: %.200s", status, text)
	}
	f := &Failure{Outcome: Declined, Message: body.Error.Param + ": " + body.Error.Message}
	if status >= 500 || body.Error.Code == "plugin_fault" {
		f.Outcome = Faulted
	}
	return f
}

// neighbours is the number of streams beside a guest: they take seven of eight slots.
const neighbours = 7

// Neighbours makes seven neighbours request their answers over and over until stop is called. stop
// waits for the last answers, at least one for each neighbour, and reports the neighbours whose
// answers differ from what they were before. ask requests the answer of neighbour n.
func Neighbours(ask func(n int) (string, error)) (stop func() error, _ error) {
	var undisturbed [neighbours]string
	for n := range undisturbed {
		var err error
		if undisturbed[n], err = ask(n); err != nil {
			return nil, err
		}
		if undisturbed[n] == "" {
			return nil, fmt.Errorf("neighbour %d got no text", n)
		}
	}
	var group sync.WaitGroup
	var errs [neighbours]error
	done := make(chan struct{})
	for n := range undisturbed {
		group.Go(func() { errs[n] = repeat(n, undisturbed[n], ask, done) })
	}
	return func() error {
		close(done)
		group.Wait()
		return errors.Join(errs[:]...)
	}, nil
}

// repeat asks, until done, and compares. It asks once whatever happens: how soon its goroutine
// runs is a matter of the machine.
func repeat(n int, want string, ask func(n int) (string, error), done <-chan struct{}) error {
	for {
		switch text, err := ask(n); {
		case err != nil:
			return fmt.Errorf("%w: neighbour %d: %w", ErrBroken, n, err)
		case text != want:
			return fmt.Errorf("%w: neighbour %d has %q; undisturbed it has %q", ErrBroken, n, text, want)
		}
		select {
		case <-done:
			return nil
		default:
		}
	}
}
