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
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
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

// TracedAnswer is what a host answered.
type TracedAnswer struct {
	Text    string            `json:"text"`
	Reason  string            `json:"reason"`            // why it ended: stop, length, …
	Outputs []json.RawMessage `json:"outputs,omitempty"` // what the plugin handed to the client
	Tokens  []Token           `json:"tokens"`
}

// Token is one of an answer, with the candidates that the model and the stages had for it.
type Token struct {
	Piece  string  `json:"token"`
	How    string  `json:"how"` // chosen, forced, spliced or injected
	By     string  `json:"by"`
	Before Survey  `json:"before"` // what the model computed
	Stages []Stage `json:"stages"`
}

// Stage is what one stage of the sampler chain left.
type Stage struct {
	Name  string  `json:"name"`
	MS    float64 `json:"ms"`
	After Survey  `json:"after"`
}

// Survey is how many candidates there are, and the most likely of them.
type Survey struct {
	N    int         `json:"n"`
	Best []Candidate `json:"best"`
}

// Candidate is a token that may come next, with its probability.
type Candidate struct {
	Piece string  `json:"token"`
	P     float64 `json:"p"`
}

// choice is an answer as the API has it.
type choice struct {
	Message       struct{ Content string }
	FinishReason  string `json:"finish_reason"`
	Trace         []Token
	PluginOutputs []struct{ Value json.RawMessage } `json:"plugin_outputs"`
}

func (c choice) answer() *TracedAnswer {
	a := &TracedAnswer{Text: c.Message.Content, Reason: c.FinishReason, Tokens: c.Trace}
	for _, o := range c.PluginOutputs {
		a.Outputs = append(a.Outputs, o.Value)
	}
	return a
}

// Difference is where two answers part.
type Difference struct {
	Token  int   `json:"token"` // from 1: the first that is not the same; 0: all that both have are
	Before *Part `json:"before,omitempty"`
	After  *Part `json:"after,omitempty"`
}

// Part is one answer at the token at which two differ.
type Part struct {
	Piece string  `json:"token"`
	By    string  `json:"by"`
	Found *Survey `json:"found,omitempty"` // what the plugin found; nil: it did not look at this token's candidates
	Left  *Survey `json:"left,omitempty"`  // what it left
}

// findDifference finds the first token at which two answers differ. stage is the plugin's name in
// traces.
func findDifference(before, after *TracedAnswer, stage string) *Difference {
	n := min(len(before.Tokens), len(after.Tokens))
	at := 0
	for at < n && before.Tokens[at].Piece == after.Tokens[at].Piece {
		at++
	}
	if at == n && len(before.Tokens) == len(after.Tokens) {
		if before.Text == after.Text && before.Reason == after.Reason {
			return nil
		}
		return &Difference{} // a stop rule shows more or less of the same tokens
	}
	return &Difference{Token: at + 1, Before: before.partAt(at, stage), After: after.partAt(at, stage)}
}

// partAt shows the answer at one token; nil: it has ended before.
func (a *TracedAnswer) partAt(at int, stage string) *Part {
	if at >= len(a.Tokens) {
		return nil
	}
	t := a.Tokens[at]
	p := &Part{Piece: t.Piece, By: t.By}
	i := slices.IndexFunc(t.Stages, func(s Stage) bool { return s.Name == stage })
	if i < 0 {
		i = slices.IndexFunc(t.Stages, func(s Stage) bool { return s.Name == "prepare" }) // masks and biases
	}
	switch {
	case i == 0:
		p.Found, p.Left = &t.Before, &t.Stages[0].After
	case i > 0:
		p.Found, p.Left = &t.Stages[i-1].After, &t.Stages[i].After
	}
	return p
}

// shownCandidates is how many candidates are listed.
const shownCandidates = 5

// Print writes a round for people.
func (r Round) Print(to io.Writer) error {
	if r.Error != "" {
		what := "not loaded, the last build stays"
		if r.Plugin != "" {
			what = r.Plugin + " is loaded, but the question was not answered"
		}
		_, err := fmt.Fprintf(to, "%s: %s\n", what, r.Error)
		return err
	}
	fmt.Fprintf(to, "%s: built in %.1f s, loaded in %.0f ms, asked in %.0f ms\n", r.Plugin, r.BuildMS/1000, r.LoadMS, r.AnswerMS)
	if r.Difference == nil {
		fmt.Fprintf(to, "  the answer is the same: %s\n", r.After)
	} else {
		fmt.Fprintf(to, "  before: %s\n  after:  %s\n", r.Before, r.After)
	}
	for _, o := range r.After.Outputs {
		fmt.Fprintf(to, "  output: %s\n", o)
	}
	return r.Difference.print(to)
}

// String is an answer in one line.
func (a *TracedAnswer) String() string {
	return fmt.Sprintf("%s [%s after %d tokens]", strconv.Quote(a.Text), a.Reason, len(a.Tokens))
}

// print tells where two answers part.
func (d *Difference) print(to io.Writer) error {
	if d == nil || d.Token == 0 {
		return nil
	}
	fmt.Fprintf(to, "  the first difference is token %d: %s before, %s after\n", d.Token, d.Before, d.After)
	for _, side := range []struct {
		name string
		part *Part
	}{{"before", d.Before}, {"after", d.After}} {
		if p := side.part; p != nil && p.Found != nil {
			fmt.Fprintf(to, "    %s: the plugin found %d candidates and left %d\n", side.name, p.Found.N, p.Left.N)
			if err := printCandidates(to, *p.Found, *p.Left); err != nil {
				return err
			}
		}
	}
	return nil
}

// String is the token, and who put it there.
func (p *Part) String() string {
	if p == nil {
		return "the end"
	}
	return fmt.Sprintf("%q by %s", p.Piece, p.By)
}

// printCandidates writes the most likely candidates side by side.
func printCandidates(to io.Writer, found, left Survey) error {
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	for i := range shownCandidates {
		if line := []string{formatCandidate(found, i), formatCandidate(left, i)}; line[0]+line[1] != "" {
			fmt.Fprintf(table, "      %s\n", strings.Join(line, "\t"))
		}
	}
	return table.Flush()
}

func formatCandidate(s Survey, i int) string {
	if i >= len(s.Best) {
		return ""
	}
	return fmt.Sprintf("%5.1f%% %q", 100*s.Best[i].P, s.Best[i].Piece)
}
