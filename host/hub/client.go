// SPDX-License-Identifier: MIT

// Package hub downloads models from a hub or from a URL. A download that was cut goes on where it
// ended, and only files whose SHA-256 and header are right get their names.
//
// Begin to read with pull.go.
//
// # Why is the note of a model's source written before the model gets its name?
//
// A pull that is killed while it renames a model's files finds some of them done. If the server
// names no hash, only the note tells the next pull whose they are. For the same reason the note
// of an unfinished download is removed before its bytes are.
package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/penstock/penstock/host/excerpt"
)

// DefaultEndpoint is the hub unless a mirror is configured.
const DefaultEndpoint = "https://huggingface.co"

// Client speaks to one hub, and to servers of files. Zero values take the defaults named.
type Client struct {
	Endpoint    string            // of the hub or a mirror, with the same routes; "": DefaultEndpoint
	Token       string            // is sent to the endpoint's host and to no other
	Agent       string            // User-Agent
	Transport   http.RoundTripper // nil: one of its own
	Connections int               // at once; 0: 4
	Attempts    int               // that may fail in a row; 0: 6
	Delay       time.Duration     // after the first failure, doubled with each further; 0: 1 s
	Stall       time.Duration     // a connection that brings nothing for so long is cut; 0: 30 s
	Notify      func(Event)       // is told what happens, one event after the other; nil: nobody

	leastPiece int64 // bytes of a file that one connection brings; 0: 32 MiB; tests set less
}

const (
	mostDelay = time.Minute
	redirects = 10
)

func (c Client) withDefaults() Client {
	c.Endpoint = strings.TrimSuffix(cmp.Or(c.Endpoint, DefaultEndpoint), "/")
	c.Agent = cmp.Or(c.Agent, "penstock")
	c.Connections = cmp.Or(c.Connections, 4)
	c.Attempts = cmp.Or(c.Attempts, 6)
	c.Delay = cmp.Or(c.Delay, time.Second)
	c.Stall = cmp.Or(c.Stall, 30*time.Second)
	if c.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DisableCompression = true // ranges are of the file's own bytes
		t.ResponseHeaderTimeout = c.Stall
		t.MaxIdleConnsPerHost = c.Connections
		c.Transport = t
	}
	c.leastPiece = cmp.Or(c.leastPiece, 32<<20)
	if c.Notify == nil {
		c.Notify = func(Event) {}
	}
	return c
}

// trusts reports whether the token may be sent to a URL.
func (c Client) trusts(u *url.URL) bool {
	endpoint, err := url.Parse(c.Endpoint)
	return err == nil && u.Scheme == endpoint.Scheme && u.Host == endpoint.Host
}

// close ends connections that are idle.
func (c Client) close() {
	if t, ok := c.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// reply is a response and what the hub said of the file before it sent us to another server.
type reply struct {
	*http.Response
	linked http.Header // X-Linked-… of the first answer that had them
}

// Headers of the hub, as its clients read them.
const (
	linkedETag = "X-Linked-Etag" // of a large file: its SHA-256
	linkedSize = "X-Linked-Size"
	errorCode  = "X-Error-Code"
	errorText  = "X-Error-Message"
)

// get asks for a URL. header may be nil. An answer other than 2xx and 416 becomes an error. The
// body ends with errStalled when nothing has come for Client.Stall.
func (c Client) get(ctx context.Context, url string, header http.Header) (*reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		cancel(nil)
		return nil, permanent(fmt.Errorf("%w: %w", ErrReference, err))
	}
	for key, values := range header {
		request.Header[key] = values
	}
	request.Header.Set("User-Agent", c.Agent)
	request.Header.Set("Accept-Encoding", "identity")
	if c.Token != "" && c.trusts(request.URL) {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	r := &reply{linked: http.Header{}}
	client := http.Client{Transport: c.Transport, CheckRedirect: r.beforeRedirect}
	stall := time.AfterFunc(c.Stall, func() { cancel(errStalled) })
	if r.Response, err = client.Do(request); err != nil { //nolint:bodyclose // the caller closes the reply's
		err = unreachable(ctx, err)
		stall.Stop()
		cancel(nil)
		return nil, err
	}
	r.note(r.Header)
	r.Body = &stallReader{r.Body, ctx, c.Stall, stall, cancel}
	if r.StatusCode/100 != 2 && r.StatusCode != http.StatusRequestedRangeNotSatisfiable {
		defer r.Body.Close()
		return nil, refusal(r.Response)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		defer r.Body.Close()
		return nil, permanent(fmt.Errorf("%w: it compresses the file (%s), although that was not asked for", ErrServer, coding))
	}
	return r, nil
}

// beforeRedirect is called before a redirect is followed. The token is for the hub alone, and stays
// secret.
func (r *reply) beforeRedirect(next *http.Request, via []*http.Request) error {
	if next.Response != nil {
		r.note(next.Response.Header)
	}
	first := via[0].URL
	if next.URL.Host != first.Host || next.URL.Scheme != first.Scheme {
		next.Header.Del("Authorization")
	}
	if first.Scheme == "https" && next.URL.Scheme != "https" {
		return permanent(fmt.Errorf("%w: it redirects from https to %s://%s", ErrServer, next.URL.Scheme, next.URL.Host))
	}
	if len(via) > redirects {
		return permanent(fmt.Errorf("%w: more than %d redirects", ErrServer, redirects))
	}
	return nil
}

func (r *reply) note(h http.Header) {
	for _, key := range []string{linkedETag, linkedSize} {
		if v := h.Get(key); v != "" && r.linked.Get(key) == "" {
			r.linked.Set(key, v)
		}
	}
}

// sha256 is the hash that the hub names: the ETag of a large file, or of a plain server's that has
// the form of one.
func (r *reply) sha256() string {
	for _, tag := range []string{r.linked.Get(linkedETag), r.Header.Get("ETag")} {
		if sum := strings.Trim(strings.TrimPrefix(tag, "W/"), `"`); isSHA256(sum) {
			return strings.ToLower(sum)
		}
	}
	return ""
}

func isSHA256(s string) bool {
	return len(s) == 64 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

var errStalled = errors.New("nothing came for too long")

// stallReader cuts a body that brings nothing for a while.
type stallReader struct {
	io.ReadCloser
	ctx    context.Context // of the request
	after  time.Duration
	timer  *time.Timer // ends the request
	cancel context.CancelCauseFunc
}

func (s *stallReader) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if n > 0 {
		s.timer.Reset(s.after)
	}
	if err != nil && errors.Is(context.Cause(s.ctx), errStalled) {
		err = fmt.Errorf("%w (%v)", errStalled, s.after)
	}
	return n, err
}

func (s *stallReader) Close() error {
	s.timer.Stop()
	s.cancel(nil)
	return s.ReadCloser.Close()
}

// What can go wrong with a download. The texts around them say what to do.
var (
	// ErrReference: the text names no repository, file or URL.
	ErrReference = errors.New("not the name of a model on a hub")
	// ErrNotFound: there is no such repository, revision or file.
	ErrNotFound = errors.New("not found")
	// ErrUnauthorized: the hub wants a token, or another one.
	ErrUnauthorized = errors.New("no access")
	// ErrRateLimited: the hub refuses more requests for now.
	ErrRateLimited = errors.New("too many requests")
	// ErrServer: the server cannot be reached, fails or does not keep to HTTP.
	ErrServer = errors.New("the server fails")
	// ErrHash: the bytes are not those that the hub, or the user, names.
	ErrHash = errors.New("wrong SHA-256")
	// ErrNotModel: the bytes are no model.
	ErrNotModel = errors.New("what was downloaded is no model")
	// ErrSpace: the disk has not enough room.
	ErrSpace = errors.New("not enough disk space")
	// ErrBusy: another pull has the same file.
	ErrBusy = errors.New("already being pulled")
	// ErrTaken: the folder has another file of this name.
	ErrTaken = errors.New("the name is taken")
)

// failure is an error with what to do about it.
type failure struct {
	error
	again bool          // the same request may succeed later
	after time.Duration // as the server asks; 0: it does not say
}

func (f *failure) Unwrap() error { return f.error }

func permanent(err error) error { return &failure{error: err} }

// unreachable is what a request without an answer failed with. It may be tried again, unless the
// caller has ended it.
func unreachable(ctx context.Context, err error) error {
	var f *failure
	switch {
	case errors.As(err, &f):
		return err
	case errors.Is(context.Cause(ctx), errStalled):
		err = errStalled
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return &failure{error: fmt.Errorf("%w: %w", ErrServer, err), again: true}
}

// refusal turns an answer that is no success into an error that says what to do.
func refusal(r *http.Response) error {
	said := serverWords(r)
	where := r.Request.URL.Redacted()
	switch code := r.Header.Get(errorCode); {
	case r.StatusCode == http.StatusTooManyRequests:
		return &failure{fmt.Errorf("%w: %s limits requests%s; wait some minutes, or set HF_TOKEN, which raises the limit", ErrRateLimited, r.Request.URL.Host, said),
			true, retryAfter(r.Header)}
	case code == "GatedRepo" || r.StatusCode == http.StatusForbidden:
		return permanent(fmt.Errorf("%w: %s answers %s%s; the repository may be gated: accept its terms on its page, and set HF_TOKEN to a token of that account",
			ErrUnauthorized, where, r.Status, said))
	case r.StatusCode == http.StatusUnauthorized:
		return permanent(fmt.Errorf("%w: %s answers %s%s; the repository does not exist, or is private: check its name, and set HF_TOKEN to a token that may read it",
			ErrUnauthorized, where, r.Status, said))
	case r.StatusCode == http.StatusNotFound || r.StatusCode == http.StatusGone:
		return permanent(fmt.Errorf("%w: %s answers %s%s; check the names of repository, revision and file", ErrNotFound, where, r.Status, said))
	case r.StatusCode >= 500 || r.StatusCode == http.StatusRequestTimeout:
		return &failure{fmt.Errorf("%w: %s answers %s%s; try again later, or another mirror (models.hub)", ErrServer, where, r.Status, said), true, retryAfter(r.Header)}
	default:
		return permanent(fmt.Errorf("%w: %s answers %s%s", ErrServer, where, r.Status, said))
	}
}

// serverWords finds what the server says about an error, for a person.
func serverWords(r *http.Response) string {
	text := r.Header.Get(errorText)
	if text == "" && strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<10))
		if err == nil {
			text = strings.TrimSpace(string(body))
		}
	}
	if text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "); text == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", excerpt.Of(text, 200))
}

// retryAfter reads the header in seconds or as a date.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(max(0, min(seconds, 3600))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(time.Until(at), time.Hour))
	}
	return 0
}

// retry calls do until it succeeds, fails permanently, or fails Client.Attempts times in a row. do
// returns the bytes that it brought: after some, the count of failures starts again.
func (c Client) retry(ctx context.Context, what string, do func() (int64, error)) error {
	const worthwhile = 1 << 20 // bytes; a server that cuts each connection after fewer would be asked forever
	brought := int64(0)
	for failures := 0; ; {
		n, err := do()
		if err == nil {
			return nil
		}
		var f *failure
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.As(err, &f) || !f.again {
			return err
		}
		if brought += n; brought >= worthwhile {
			failures, brought = 0, 0
		}
		delay := max(f.after, min(c.Delay<<failures, mostDelay))
		if failures++; failures >= c.Attempts || f.after > 10*mostDelay {
			return fmt.Errorf("%w (after %s)", err, attemptsText(failures))
		}
		c.Notify(Retrying{File: what, Delay: delay, Err: err})
		if err := sleep(ctx, delay); err != nil {
			return err
		}
	}
}

func attemptsText(n int) string {
	return strconv.Itoa(n) + cmp.Or(map[int]string{1: " attempt"}[n], " attempts")
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
