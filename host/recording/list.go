// SPDX-License-Identifier: MIT

package recording

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/serving"
)

// head is in the header of a recording's gzip, so that a list needs not unpack it: in a subfield
// of its "extra" field.
type head struct {
	Owner   string   `json:"owner"` // see ownerOf
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Plugins []string `json:"plugins"`
	Tokens  int      `json:"tokens"`
	Cut     string   `json:"cut,omitempty"`
}

// subfield is the name of the subfield.
const subfield = "PS"

// extra packs the head for a gzip header.
func (h head) extra() ([]byte, error) {
	text, err := json.Marshal(h)
	return append(binary.LittleEndian.AppendUint16([]byte(subfield), uint16(len(text))), text...), err
}

var errHead = errors.New("it is no recording")

// readHead reads the head of a file.
func readHead(file *os.File) (fs.FileInfo, head, error) {
	var h head
	info, err := file.Stat()
	if err != nil {
		return nil, h, err
	}
	packed, err := gzip.NewReader(file)
	if err != nil {
		return nil, h, errHead
	}
	text, ok := bytes.CutPrefix(packed.Extra, []byte(subfield))
	if !ok || len(text) < 2 || json.Unmarshal(text[2:], &h) != nil {
		return nil, h, errHead
	}
	return info, h, nil
}

// List lists the recordings that a reader may have, the latest first. Those whose answers have not
// ended are not among them yet.
func (s *Store) List(ctx context.Context, r serving.RecordingReader) ([]serving.RecordingInfo, error) {
	var ended []*pending
	s.mu.Lock()
	for id, p := range s.pending {
		if owns(r, id, p.owner) && p.ended.Load() {
			ended = append(ended, p)
		}
	}
	s.mu.Unlock()
	for _, p := range ended {
		if err := p.wait(ctx); err != nil {
			return nil, err
		}
	}
	s.prune()
	list := []serving.RecordingInfo{}
	err := s.each(func(id string, file *os.File) {
		info, h, err := readHead(file)
		if err == nil && owns(r, id, h.Owner) {
			list = append(list, serving.RecordingInfo{ID: id, Created: h.Created, Model: h.Model, Plugins: h.Plugins, Tokens: h.Tokens, Bytes: info.Size(), Cut: h.Cut})
		}
	})
	slices.SortFunc(list, func(a, b serving.RecordingInfo) int {
		if a.Created != b.Created {
			return int(b.Created - a.Created)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list, err
}

// each opens all recordings of the folder, one after the other.
func (s *Store) each(look func(id string, file *os.File)) error {
	root, err := os.OpenRoot(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing was written through it
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok || !validID(id) || !e.Type().IsRegular() {
			continue
		}
		file, err := root.Open(e.Name())
		if err != nil {
			continue // another process has removed it
		}
		look(id, file)
		_ = file.Close() // it was only read
	}
	return err
}

// prune removes what is too old, and the oldest of what is too many.
func (s *Store) prune() {
	type kept struct {
		id string
		at time.Time
	}
	var all []kept
	err := s.each(func(id string, file *os.File) {
		if info, err := file.Stat(); err == nil {
			all = append(all, kept{id, info.ModTime()})
		}
	})
	slices.SortFunc(all, func(a, b kept) int { return b.at.Compare(a.at) })
	for i, k := range all {
		if i >= s.limits.Keep || time.Since(k.at) > s.limits.KeepFor {
			err = errors.Join(err, s.remove(k.id))
		}
	}
	if err != nil {
		s.log.Warn("old recordings could not be removed", "because", err)
	}
}

func (s *Store) remove(id string) error { return atomicfile.Remove(filepath.Join(s.path, id+suffix)) }

// write packs a recording into its file.
func (s *Store) write(id string, h head, fill func(io.Writer) error) error {
	extra, err := h.extra()
	if err != nil {
		return err
	}
	if err := atomicfile.MkdirAll(s.path, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(s.path)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // the file is on the disk
	_, err = atomicfile.Write(root, id+suffix, 0o600, func(file io.Writer) error {
		sum := sha256.New()
		to := io.MultiWriter(file, sum)
		packed, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
		if err != nil {
			return err
		}
		packed.Extra = extra
		if err := fill(packed); err != nil {
			return err
		}
		if err := packed.Close(); err != nil || s.key == nil {
			return err
		}
		return writeSeal(file, s.key, receipt.RecordingSeal{Recording: id, SHA256: hex.EncodeToString(sum.Sum(nil))})
	})
	return err
}
