// SPDX-License-Identifier: MIT

package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/penstock/penstock/native/gguf"
)

// verify checks the contents of all files. Bytes that came in part from an earlier pull may be of
// an older file, so they get another try; others that are wrong are removed.
func (t *transfer) verify(ctx context.Context) error {
	for _, p := range t.parts {
		err := p.verify(ctx, t.files, t.client.Notify)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return err
		case p.resumed:
			return &startOver{p, err}
		default:
			return errors.Join(err, p.discard())
		}
	}
	return nil
}

// verify checks the hash and the header of a part of a model with so many files.
func (p *part) verify(ctx context.Context, files int, notify func(Event)) error {
	notify(Verifying{File: p.Name})
	reader, err := p.reader()
	if err != nil {
		return err
	}
	sum, err := hashOf(ctx, reader)
	if err != nil {
		return err
	}
	if p.SHA256 != "" && sum != p.SHA256 {
		return fmt.Errorf("%w: %s should have %s and has %s; what came was removed: pull again, and if that does not help, use another mirror (models.hub)",
			ErrHash, p.Name, p.SHA256, sum)
	}
	p.SHA256, p.Size = sum, reader.Size()
	if p.index > 0 && p.index == files {
		err = checkProjector(reader)
	} else {
		err = checkModel(reader, p.index, files)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNotModel, p.Name, err)
	}
	return nil
}

// checkModel checks the header of part i of n. What is well-formed but no language model, such as
// an adapter, is let pass.
func checkModel(file *io.SectionReader, i, n int) error {
	if i == 0 {
		h, err := gguf.Check(file, file.Size())
		if errors.Is(err, gguf.ErrUnsupported) {
			return nil
		}
		if err == nil && h.Splits() != n {
			return fmt.Errorf("it is one of %d files of its model, and there are %d", h.Splits(), n)
		}
		return err
	}
	h, err := gguf.Read(file, file.Size())
	if err != nil {
		return err
	}
	if v := h.Values["split.no"]; v.Type != gguf.Uint16 || v.Int(0) != int64(i) {
		return fmt.Errorf("it is not part %d of its model", i+1)
	}
	return nil
}

// checkProjector checks the header of a projector. One of a kind that cannot be used here is let
// pass: the model is of use without.
func checkProjector(file *io.SectionReader) error {
	if _, err := gguf.CheckProjector(file, file.Size()); err != nil && !errors.Is(err, gguf.ErrUnsupported) {
		return err
	}
	return nil
}

// hashOf is the SHA-256 of what a reader has, in hexadecimal.
func hashOf(ctx context.Context, r io.Reader) (string, error) {
	sum := sha256.New()
	_, err := io.CopyBuffer(struct{ io.Writer }{sum}, reading{ctx, r}, make([]byte, 1<<20))
	return hex.EncodeToString(sum.Sum(nil)), err
}

func hashFile(ctx context.Context, path string) (_ string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return hashOf(ctx, file)
}

// reading is a reader that ends with its context.
type reading struct {
	ctx context.Context
	r   io.Reader
}

func (r reading) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}
