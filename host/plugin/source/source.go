// SPDX-License-Identifier: MIT

// Package source gets indexes of plugins, and the plugins' files, from where they are: a web
// server, an OCI registry or a folder.
//
// # Notes
//
//   - Fetches are bounded in bytes and time, and their content is used only if its digest or
//     signature is the requested one.
//   - An index on the public internet cannot lead to an address of this machine or its networks:
//     once a public address was reached, only public ones are.
//   - A folder's file is opened within that folder, so that no link leads out of it.
package source

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/media/fetch"
	"github.com/penstock/penstock/host/plugin/artifact"
	"github.com/penstock/penstock/host/plugin/index"
)

// ErrSource marks a text that names no source.
var ErrSource = errors.New("not where an index can be")

// Source says where an index is, and by which key or digest it is trusted.
type Source struct {
	Name   string            // where it is, as the user wrote it
	Key    ed25519.PublicKey // that signs it; nil: the one that the index names, if it does
	SHA256 string            // of the index, in hex; "": any

	url    *url.URL           // https:, or http: on this machine; nil: it is elsewhere
	oci    artifact.Reference // in a registry, where Name begins with oci:
	folder string             // where it is a file
	file   string             // its base name
}

// Parse reads where an index is: a URL of https:, oci://REFERENCE, a file: URL or a path, of the
// index or of its folder. #ed25519:BASE64 or #sha256:HEX may follow. The error wraps ErrSource.
func Parse(text string) (s Source, err error) {
	name, pin, pinned := strings.Cut(text, "#")
	s.Name = name
	if pinned {
		if err := s.pin(pin); err != nil {
			return s, fmt.Errorf("%w: %q: %w", ErrSource, excerpt.Of(text, 200), err)
		}
	}
	scheme, rest, _ := strings.Cut(name, ":")
	switch scheme {
	case "oci":
		s.oci, err = artifact.ParseReference(name)
	case "https", "http":
		s.url, err = url.Parse(name)
		if err == nil {
			err = checkURL(s.url)
		}
	case "file":
		err = s.inFolder(strings.TrimPrefix(rest, "//"))
	default:
		err = s.inFolder(name)
	}
	if err != nil {
		return s, fmt.Errorf("%w: %q: %w", ErrSource, excerpt.Of(name, 200), err)
	}
	return s, nil
}

// pin reads what follows the # of a source.
func (s *Source) pin(text string) (err error) {
	if sum, ok := strings.CutPrefix(text, "sha256:"); ok {
		if !index.IsSum(sum) {
			return errors.New("#sha256: must be followed by 64 hexadecimal digits in small letters")
		}
		s.SHA256 = sum
		return nil
	}
	s.Key, err = index.ParseKey(text)
	return err
}

// checkURL refuses URLs by which a stranger could change or read what is fetched.
func checkURL(u *url.URL) error {
	switch {
	case u.Hostname() == "":
		return errors.New("it names no host")
	case u.User != nil:
		return errors.New("it has a user or a password in it; put the index where none is needed, or into an OCI registry")
	case u.Scheme == "https", u.Scheme == "http" && artifact.IsThisMachine(u.Host):
		return nil
	}
	return errors.New("it must begin with https:; http: is for this machine alone")
}

func (s *Source) inFolder(path string) error {
	if path == "" {
		return errors.New("it is empty")
	}
	stat, err := os.Stat(path)
	if err != nil {
		return err
	}
	s.folder, s.file = filepath.Dir(path), filepath.Base(path)
	if stat.IsDir() {
		s.folder, s.file = path, index.FileName
	}
	return nil
}

// IsFolder reports whether the index is a local file. No copy is kept of those.
func (s *Source) IsFolder() bool { return s.folder != "" }

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

// get fetches a file of at most most bytes.
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

// readAll reads at most most bytes.
func readAll(r io.Reader, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%w: more than %d bytes", errLarge, most)
	}
	return content, err
}

// readFile reads a file of at most most bytes within a folder.
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
