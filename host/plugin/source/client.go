// SPDX-License-Identifier: MIT

package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"github.com/penstock/penstock/host/plugin/artifact"
	"github.com/penstock/penstock/host/plugin/index"
)

// ErrDigest refuses what has another SHA-256 than the one that was asked for.
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

// Open makes a client of where an index is.
func (c Client) Open() *Client {
	c.web = newWeb(c.Agent)
	c.artifacts = artifact.Client{UserAgent: c.Agent, MaxBytes: c.MaxBytes, HTTP: &c.web.client}
	return &c
}

// Index gets the index, and keeps a copy of it. The error wraps index.ErrIndex,
// index.ErrSignature or ErrDigest where it is not to be trusted.
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

// check reads an index, if it is the one that was asked for.
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

// File gets the file of a plugin. The error wraps ErrDigest if it is another one than the entry
// says.
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
