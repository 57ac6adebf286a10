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
	"os"
	"path/filepath"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/plugin/index"
)

// path is that of the index's copy. Its lines are the SHA-256 of the index, the signature or
// nothing, and then the index.
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

// checkAge compares an index that its key has signed with the copy of the last one. One that its
// digest names is the one that is wanted, and a copy that another key has signed says nothing.
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

// when is a time that an index says.
func when(created int64) string {
	if created == 0 {
		return "nothing"
	}
	return time.Unix(created, 0).UTC().Format(time.DateTime + " MST")
}

// Offline is Index of the copy, and reaches no other machine. It says when the copy was made; that
// of a folder is the folder's own.
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
