// SPDX-License-Identifier: MIT

package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

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
	client := http.Client{Transport: c.Transport, CheckRedirect: r.follow}
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

// follow is called before a redirect is followed. The token is for the hub alone, and stays secret.
func (r *reply) follow(next *http.Request, via []*http.Request) error {
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
