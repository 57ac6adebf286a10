// SPDX-License-Identifier: MIT

package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/penstock/penstock/host/media/fetch"
)

// Bounds of what is fetched.
const (
	maxRedirects = 3
	maxHeader    = 64 << 10 // bytes, of an answer
	fileTime     = 5 * time.Minute
)

var (
	errNotFound = errors.New("it is not there (404)")
	errPrivate  = errors.New("it leads from the internet to an address of this machine or its networks; use an index of those instead")
)

// web gets files from web servers.
type web struct {
	client http.Client
	agent  string
	public atomic.Bool // a public address was reached: no other is from then on
}

func newWeb(agent string) *web {
	w := &web{agent: agent}
	dialer := &net.Dialer{Timeout: 30 * time.Second, Control: w.allow}
	w.client = http.Client{CheckRedirect: follow, Timeout: fileTime, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		TLSHandshakeTimeout: 30 * time.Second, ResponseHeaderTimeout: time.Minute, ForceAttemptHTTP2: true,
	}}
	return w
}

// allow decides whether an address is connected to, once it was looked up.
func (w *web) allow(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		return err
	case fetch.IsPublic(a.Addr()):
		w.public.Store(true)
	case w.public.Load():
		return errPrivate
	}
	return nil
}

// follow decides whether a redirect is followed.
func follow(next *http.Request, before []*http.Request) error {
	if len(before) > maxRedirects {
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	first := before[0].URL
	if next.URL.Scheme != "https" && (next.URL.Host != first.Host || next.URL.Scheme != first.Scheme) {
		return fmt.Errorf("it redirects to %s://%s, and only https: is followed", next.URL.Scheme, next.URL.Host)
	}
	return nil
}

// get fetches a file of at most so many bytes.
func (w *web) get(ctx context.Context, u *url.URL, most int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", w.agent)
	request.Header.Set("Accept-Encoding", "identity")
	answer, err := w.client.Do(request)
	if err != nil {
		return nil, err // has the URL
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	switch encoding := answer.Header.Get("Content-Encoding"); {
	case answer.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("%s: %w", u, errNotFound)
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: its server answers with status %d", u, answer.StatusCode)
	case encoding != "" && encoding != "identity":
		return nil, fmt.Errorf("%s: its server packs it (%q), though it was not asked to", u, encoding)
	case answer.ContentLength > most:
		return nil, fmt.Errorf("%s: %w: %d bytes, and %d are allowed", u, errLarge, answer.ContentLength, most)
	}
	content, err := readAll(answer.Body, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u, err)
	}
	return content, nil
}

var errLarge = errors.New("it is too large")

// readAll reads at most so many bytes.
func readAll(r io.Reader, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%w: more than %d bytes", errLarge, most)
	}
	return content, err
}

// readFile reads a file within a folder, of at most so many bytes.
func readFile(folder, path string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()                     //nolint:errcheck // nothing was written
	switch stat, err := root.Stat(path); { // first: opening a pipe waits for whoever writes into it
	case err != nil:
		return nil, err
	case !stat.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", path)
	}
	f, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return readAll(f, most)
}
