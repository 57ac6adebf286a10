// SPDX-License-Identifier: MIT

package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/plugin/artifact"
	"github.com/penstock/penstock/host/plugin/index"
)

// ErrDigest refuses content whose SHA-256 is not the requested one.
var ErrDigest = errors.New("its SHA-256 is another one than it must be")

// Client gets one index, and the files of its plugins.
type Client struct {
	Source
	MaxBytes int64  // of a plugin's file
	Agent    string // what it calls itself
	Copies   string // folder of the copies of indexes; "": none are kept

	web       *web
	artifacts artifact.Client
}

// Open returns a client for a source.
func (c Client) Open() *Client {
	c.web = newWeb(c.Agent)
	c.artifacts = artifact.Client{UserAgent: c.Agent, MaxBytes: c.MaxBytes, HTTP: &c.web.client}
	return &c
}

// Index gets the index, and keeps a copy of it. The error wraps index.ErrIndex, index.ErrSignature
// or ErrDigest if the index cannot be trusted.
func (c *Client) Index(ctx context.Context) (*index.Index, error) {
	text, signature, err := c.fetch(ctx)
	if err != nil {
		return nil, fmt.Errorf("the index %s: %w", c.Name, err)
	}
	i, err := c.check(text, signature)
	if err != nil {
		return nil, fmt.Errorf("the index %s: %w", c.Name, err)
	}
	if c.folder == "" && c.Copies != "" {
		if err := c.checkAge(i); err != nil {
			return nil, fmt.Errorf("the index %s: %w", c.Name, err)
		}
		if err := c.keep(text, signature); err != nil {
			return nil, fmt.Errorf("failed to keep a copy of the index %s: %w", c.Name, err)
		}
	}
	return i, nil
}

// check reads an index if its digest or signature is the requested one.
func (c *Client) check(text, signature []byte) (*index.Index, error) {
	if err := checkSum(text, c.SHA256); err != nil {
		return nil, err
	}
	if c.Key != nil { // before anything else looks at it
		if err := verify(text, signature, c.Key); err != nil {
			return nil, err
		}
	}
	i, err := index.Parse(text, c.MaxBytes)
	if err != nil || i.Key == "" || c.Key != nil {
		return i, err
	}
	key, err := index.ParseKey(i.Key)
	if err == nil {
		err = verify(text, signature, key)
	}
	if err != nil {
		return nil, err
	}
	return i, nil
}

func verify(text, signature []byte, key []byte) error {
	if signature == nil {
		return fmt.Errorf("%w: there is no signature; it must lie beside the index as %s", index.ErrSignature, index.FileName+index.SignatureSuffix)
	}
	return index.Verify(text, signature, key)
}

// checkSum compares a SHA-256; want may be empty.
func checkSum(content []byte, want string) error {
	sum := sha256.Sum256(content)
	if got := hex.EncodeToString(sum[:]); want != "" && got != want {
		return fmt.Errorf("%w: it is %s, not %s: it was changed, or what names it is out of date", ErrDigest, got, want)
	}
	return nil
}

// fetch gets an index and, where there is one, its signature.
func (c *Client) fetch(ctx context.Context) (text, signature []byte, err error) {
	switch {
	case c.url != nil:
		if text, err = c.web.get(ctx, c.url, index.MaxBytes); err != nil {
			return nil, nil, err
		}
		at := *c.url
		at.Path, at.RawPath = at.Path+index.SignatureSuffix, ""
		signature, err = c.web.get(ctx, &at, index.MaxSignature)
		if errors.Is(err, errNotFound) {
			err = nil
		}
	case c.folder != "":
		if text, err = readFile(c.folder, c.file, index.MaxBytes); err != nil {
			return nil, nil, err
		}
		signature, err = readFile(c.folder, c.file+index.SignatureSuffix, index.MaxSignature)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	default:
		return c.artifacts.PullIndex(ctx, c.oci)
	}
	return text, signature, err
}

// File gets the file of a plugin. The error wraps ErrDigest if it is not the entry's file.
func (c *Client) File(ctx context.Context, e index.Entry) (content []byte, err error) {
	content, err = c.contentOf(ctx, e)
	if err == nil && int64(len(content)) != e.Size {
		err = fmt.Errorf("it has %d bytes, and the index says %d", len(content), e.Size)
	}
	if err == nil {
		err = checkSum(content, e.SHA256)
	}
	if err != nil {
		return nil, fmt.Errorf("the file of plugin %s (%s): %w", e.Name, e.URL, err)
	}
	return content, nil
}

func (c *Client) contentOf(ctx context.Context, e index.Entry) ([]byte, error) {
	path := e.Path()
	switch {
	case path != "" && c.folder != "":
		return readFile(c.folder, path, e.Size)
	case strings.HasPrefix(e.URL, "oci:"):
		r, err := artifact.ParseReference(e.URL)
		if err != nil {
			return nil, err
		}
		pulled, err := c.artifacts.Pull(ctx, r)
		return pulled.Content, err
	case path != "" && c.url == nil:
		return nil, errors.New("it would lie beside the index, which is in a registry; the index must name each file by an https: or oci: address")
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil, err
	}
	if path != "" {
		u = c.url.ResolveReference(u)
	}
	return c.web.get(ctx, u, e.Size)
}

// path returns the path of the index's copy. Its lines are the SHA-256 of the index, the signature
// or nothing, and then the index.
func (c *Client) path() string {
	sum := sha256.Sum256([]byte(c.Name))
	return filepath.Join(c.Copies, hex.EncodeToString(sum[:])+".index")
}

func (c *Client) keep(text, signature []byte) error {
	if err := atomicfile.MkdirAll(c.Copies, 0o755); err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	_, err := atomicfile.WriteBytes(c.path(), 0o644, bytes.Join([][]byte{[]byte(hex.EncodeToString(sum[:])), bytes.TrimSpace(signature), text}, []byte("\n")))
	return err
}

// ErrOlder refuses a signed index that is older than one seen before: whoever serves it may want a
// plugin with a known fault to be installed.
var ErrOlder = errors.New("it is older than the one of the last time")

// checkAge compares a signed index with the copy of the last one. An index that is pinned by its
// digest needs no check, and a copy that another key signed does not count.
func (c *Client) checkAge(i *index.Index) error {
	if c.SHA256 != "" || c.Key == nil && i.Key == "" {
		return nil
	}
	last, _, err := c.Offline()
	if err != nil || c.Key == nil && last.Key != i.Key || i.Created >= last.Created {
		return nil //nolint:nilerr // without a copy that is good there is nothing to compare with
	}
	return fmt.Errorf("%w: it says %s, and that said %s; ask its publisher, and where that is right remove %s", ErrOlder, when(i.Created), when(last.Created), c.path())
}

// when formats a time of an index.
func when(created int64) string {
	if created == 0 {
		return "nothing"
	}
	return time.Unix(created, 0).UTC().Format(time.DateTime + " MST")
}

// Offline is Index for the copy, without the network. It returns when the copy was made. A folder
// is its own copy.
func (c *Client) Offline() (i *index.Index, made time.Time, err error) {
	var text, signature []byte
	if c.folder != "" {
		text, signature, err = c.fetch(context.Background()) // it reads a file
	} else {
		text, signature, made, err = c.copied()
	}
	if err == nil {
		i, err = c.check(text, signature)
	}
	if err != nil {
		return nil, made, fmt.Errorf("the index %s: %w", c.Name, err)
	}
	return i, made, nil
}

// copied reads the copy.
func (c *Client) copied() (text, signature []byte, made time.Time, err error) {
	stat, err := os.Stat(c.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, made, errors.New("there is no copy of it yet; search once without --offline")
	} else if err != nil {
		return nil, nil, made, err
	}
	content, err := readFile(c.Copies, filepath.Base(c.path()), index.MaxBytes+1<<10)
	if err != nil {
		return nil, nil, made, err
	}
	sum, rest, _ := bytes.Cut(content, []byte("\n"))
	signature, text, _ = bytes.Cut(rest, []byte("\n"))
	if err := checkSum(text, string(sum)); err != nil || len(sum) == 0 {
		return nil, nil, made, fmt.Errorf("its copy %s is damaged; search once without --offline", c.path())
	}
	if len(signature) == 0 {
		signature = nil
	}
	return text, signature, stat.ModTime(), nil
}
