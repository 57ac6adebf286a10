// SPDX-License-Identifier: MIT

package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/library"
)

// part is a file on its way: its bytes so far, in NAME.part, and a note of which pieces they are,
// in NAME.part.json. The process that has locked it is the only one that writes to it.
type part struct {
	File
	index   int    // in the model, from 0
	target  string // path of the finished file
	least   int64  // bytes of a piece
	file    *os.File
	resumed bool // an earlier pull brought some of it
	again   int  // times it was started again

	mu      sync.Mutex
	pieces  []piece
	unsaved int64     // bytes since the note was written
	saved   time.Time // when it was
}

// piece is bytes From to To (exclusive) of a file, of which the first Done are there.
type piece struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	Done int64 `json:"done"`
}

// note is the JSON beside the bytes.
type note struct {
	URL    string  `json:"url"`
	Size   int64   `json:"size"`
	SHA256 string  `json:"sha256,omitempty"`
	ETag   string  `json:"etag,omitempty"`
	Pieces []piece `json:"pieces"`
}

const (
	mostPieces = 16              // of a file
	saveEvery  = 64 << 20        // bytes, or
	saveWithin = 2 * time.Second // which is what a crash costs at most
)

// openPart locks the part of a file in a folder and takes over what an earlier pull brought, if it
// is of the same contents.
func openPart(folder string, f File, index int, least int64) (_ *part, err error) {
	p := &part{File: f, index: index, target: filepath.Join(folder, f.Name), least: least}
	p.file, err = atomicfile.OpenAlone(p.target+library.PartEnding, 0o644) // a model is no secret
	if errors.Is(err, atomicfile.ErrInUse) {
		return nil, &failure{error: fmt.Errorf("%s is %w; wait until the other pull ends", p.target, ErrBusy), again: true}
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(p.target); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("%s was %w, and is there now; pull again to see whether it is the same", p.target, ErrBusy), p.remove())
	}
	p.pieces = p.readNote()
	p.resumed = p.done() > 0
	return p, nil
}

// readNote returns the pieces of an earlier pull, nil if there is none or it was of something else.
func (p *part) readNote() []piece {
	data, err := os.ReadFile(p.notePath())
	if err != nil {
		return nil
	}
	var n note
	info, err := p.file.Stat()
	if err != nil || json.Unmarshal(data, &n) != nil || !p.ranges || p.Size < 0 || n.Size != p.Size || info.Size() != p.Size {
		return nil
	}
	same := n.SHA256 == p.SHA256 && p.SHA256 != "" || n.URL == p.URL && n.ETag == p.ETag && p.ETag != ""
	if !same || !covers(n.Pieces, p.Size) {
		return nil
	}
	return n.Pieces
}

// covers reports whether pieces follow one another from 0 to size.
func covers(pieces []piece, size int64) bool {
	var next int64
	for _, c := range pieces {
		if c.From != next || c.To <= c.From || c.Done < 0 || c.Done > c.To-c.From {
			return false
		}
		next = c.To
	}
	return next == size
}

// begin empties the part. Its note goes first: it would tell of bytes that are not there any more.
func (p *part) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resumed = false
	p.pieces = divide(p.Size, p.least)
	if err := atomicfile.Remove(p.notePath()); err != nil {
		return err
	}
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	if p.ranges {
		if err := p.file.Truncate(p.Size); err != nil {
			return writeError(p.target, err)
		}
	}
	return p.save()
}

// divide divides a file into at most mostPieces pieces of at least `least` bytes. A file of unknown
// length is a single piece without an end.
func divide(size, least int64) (pieces []piece) {
	if size <= 0 {
		return []piece{{To: size}}
	}
	length := max(least, (size+mostPieces-1)/mostPieces)
	for from := int64(0); from < size; from += length {
		pieces = append(pieces, piece{From: from, To: min(from+length, size)})
	}
	return pieces
}

// done is how many bytes are there.
func (p *part) done() (n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.pieces {
		n += c.Done
	}
	return n
}

func (p *part) piece(i int) piece {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pieces[i]
}

// write adds bytes to a piece.
func (p *part) write(i int, data []byte) error {
	c := p.piece(i)
	if _, err := p.file.WriteAt(data, c.From+c.Done); err != nil {
		return writeError(p.target, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pieces[i].Done += int64(len(data))
	if p.unsaved += int64(len(data)); p.unsaved < saveEvery && time.Since(p.saved) < saveWithin {
		return nil
	}
	return p.save()
}

// writeError is what writing failed with.
func writeError(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return permanent(fmt.Errorf("%w: %w; what has come is kept: make room and pull again", ErrSpace, err))
	}
	return permanent(fmt.Errorf("write %s: %w", path, err))
}

// save writes the note, once the bytes that it tells of are on the disk. p.mu is held.
func (p *part) save() error {
	p.unsaved, p.saved = 0, time.Now()
	if err := p.file.Sync(); err != nil {
		return writeError(p.target, err)
	}
	data, err := json.Marshal(note{p.URL, p.Size, p.SHA256, p.ETag, slices.Clone(p.pieces)})
	if err != nil {
		return err
	}
	if _, err := atomicfile.WriteBytes(p.notePath(), 0o600, data); err != nil {
		return writeError(p.target, err)
	}
	return nil
}

func (p *part) notePath() string { return p.target + library.PartEnding + library.NoteEnding }

// close keeps what is there for the next pull.
func (p *part) close() error {
	nothing := p.done() == 0 || !p.ranges
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		return nil
	}
	if nothing {
		return p.remove()
	}
	err := p.save()
	return errors.Join(err, p.file.Close())
}

// finish gives the file its name.
func (p *part) finish() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.file.Sync()
	if err == nil {
		err = atomicfile.Rename(p.file.Name(), p.target)
	}
	if err != nil {
		return writeError(p.target, err)
	}
	err = errors.Join(atomicfile.Remove(p.notePath()), p.file.Close())
	p.file = nil
	return err
}

// discard removes the part.
func (p *part) discard() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.remove()
}

// remove removes the part. p.mu is held.
func (p *part) remove() error {
	err := errors.Join(atomicfile.Remove(p.notePath()), atomicfile.Remove(p.file.Name()), p.file.Close())
	p.file = nil
	return err
}

// reader reads the bytes from the beginning.
func (p *part) reader() (*io.SectionReader, error) {
	info, err := p.file.Stat()
	if err != nil {
		return nil, err
	}
	return io.NewSectionReader(p.file, 0, info.Size()), nil
}
