// SPDX-License-Identifier: MIT

package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/penstock/penstock/host/excerpt"
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
	said := words(r)
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

// words are what the server says about an error, for a person.
func words(r *http.Response) string {
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
			return fmt.Errorf("%w (after %s)", err, times(failures))
		}
		c.Notify(Retrying{File: what, Delay: delay, Err: err})
		if err := sleep(ctx, delay); err != nil {
			return err
		}
	}
}

func times(n int) string {
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
