// SPDX-License-Identifier: MIT

package dev

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/author/project"
)

// Client calls the API of a running host.
type Client struct {
	URL      string // of its API
	APIKey   string // empty: it asks for none
	AdminKey string // for uploads
	Folder   string // its plugin folder, for modules that cannot be uploaded; empty: it is not known
}

// ErrPlugin marks what is wrong with the plugin, as the host says, and not with the host.
var ErrPlugin = errors.New("the host refuses the plugin")

// loaded is a plugin that the host has.
type loaded struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	State  string `json:"state"`
	File   string `json:"file"`
	Error  string `json:"error"`
}

// put has the host use a module or a script from its next request on. file is the name of its file.
// It is uploaded where the admin key is known, and put into the folder where it is not, or where
// loading takes longer than an upload may.
func (c *Client) put(ctx context.Context, content []byte, file string) (loaded, error) {
	if c.Folder != "" && c.AdminKey == "" {
		return c.putIntoFolder(ctx, content, file)
	}
	var l loaded
	path, kind := "/v1/plugins", "application/wasm"
	if project.IsScript(file) {
		path, kind = path+"?name="+url.QueryEscape(project.ScriptName(file)), "text/javascript"
	}
	err := c.call(ctx, http.MethodPost, path, kind, content, c.AdminKey, &l)
	var refused *statusError
	switch {
	case !errors.As(err, &refused):
		return l, err
	case refused.status == http.StatusForbidden || refused.status == http.StatusUnauthorized:
		return l, fmt.Errorf("%w; give that key with --admin-key, or the host's plugin folder with --plugin-dir if it is on this machine", err)
	case refused.code == lateUpload && c.Folder != "":
		return c.putIntoFolder(ctx, content, file)
	case refused.status/100 == 4:
		return l, fmt.Errorf("%w: %w", ErrPlugin, err)
	}
	return l, err
}

// lateUpload is the code of the error for a module that an upload leaves too little time for.
const lateUpload = "upload_timeout"

const (
	// loadTimeout is how long a host may take to find what was put into its folder. It looks every
	// second, and compiles.
	loadTimeout = 2 * time.Minute
	// pollInterval is how often it is asked.
	pollInterval = 50 * time.Millisecond
)

func (c *Client) putIntoFolder(ctx context.Context, content []byte, file string) (loaded, error) {
	sum := sha256.Sum256(content)
	if _, err := atomicfile.WriteBytes(filepath.Join(c.Folder, file), 0o644, content); err != nil {
		return loaded{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	for ticker := time.NewTicker(pollInterval); ; {
		var list struct{ Data []loaded }
		err := c.call(ctx, http.MethodGet, "/v1/plugins", "", nil, c.APIKey, &list)
		if err != nil && ctx.Err() == nil {
			return loaded{}, err
		}
		for _, l := range list.Data {
			if filepath.Base(l.File) != file || l.SHA256 != hex.EncodeToString(sum[:]) {
				continue
			}
			if l.State == "failed" {
				return l, fmt.Errorf("%w: %s", ErrPlugin, l.Error)
			}
			return l, nil
		}
		select {
		case <-ctx.Done():
			return loaded{}, fmt.Errorf("the host at %s has not loaded %s after %v; is %s the folder of its plugins?", c.URL, file, loadTimeout, c.Folder)
		case <-ticker.C:
		}
	}
}

// Ask asks a question, with a plugin unless its name is empty. The error wraps ErrPlugin where the
// plugin ended the answer.
func (c *Client) Ask(ctx context.Context, q Question, plugin string) (*TracedAnswer, error) {
	body, err := q.body(plugin)
	if err != nil {
		return nil, err
	}
	var got struct{ Choices []choice }
	if err := c.call(ctx, http.MethodPost, "/v1/chat/completions", "application/json", body, c.APIKey, &got); err != nil {
		var refused *statusError
		if plugin != "" && errors.As(err, &refused) {
			return nil, fmt.Errorf("%w: %w", ErrPlugin, err)
		}
		return nil, err
	}
	if len(got.Choices) != 1 {
		return nil, fmt.Errorf("%s answered with %d choices", c.URL, len(got.Choices))
	}
	return got.Choices[0].answer(), nil
}

// statusError is an answer of the host that is an error.
type statusError struct {
	status        int
	code, message string
}

func (e *statusError) Error() string { return e.message }

// call sends a request and decodes the answer. path may have a query.
func (c *Client) call(ctx context.Context, method, path, kind string, body []byte, key string, to any) error {
	path, query, _ := strings.Cut(path, "?")
	where, err := url.JoinPath(c.URL, path)
	if err != nil {
		return fmt.Errorf("the host's address %q: %w", c.URL, err)
	}
	if query != "" {
		where += "?" + query
	}
	request, err := http.NewRequestWithContext(ctx, method, where, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the host's address %q: %w", c.URL, err)
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("the host cannot be asked: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("the host's answer breaks off: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return readRefusal(text, response)
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s does not answer as Penstock does: %w", where, err)
	}
	return nil
}

// readRefusal is the error that the API answers with.
func readRefusal(body []byte, response *http.Response) error {
	var e struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal(body, &e) == nil && e.Error.Message != "" {
		return &statusError{response.StatusCode, e.Error.Code, e.Error.Message}
	}
	return &statusError{response.StatusCode, "", response.Status + " " + strings.TrimSpace(string(body[:min(len(body), 200)]))}
}
