// SPDX-License-Identifier: MIT

package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/native/gguf"
	"golang.org/x/sync/errgroup"
)

// transfer downloads the files of one model, several pieces at once.
type transfer struct {
	client  Client
	parts   []*part      // to be downloaded
	files   int          // of the model, those that are there included
	brought atomic.Int64 // bytes
}

// startOver is an error after which a file is started again, once for each reason.
type startOver struct {
	part *part
	err  error
}

func (s *startOver) Error() string { return s.err.Error() }
func (s *startOver) Unwrap() error { return s.err }

var (
	errNoRanges = fmt.Errorf("%w: it gives parts of a file only now and then", ErrServer)
	errChanged  = fmt.Errorf("%w: the file has changed there", ErrServer)
)

// run downloads and checks all files.
func (t *transfer) run(ctx context.Context) error {
	const mostAgain = 2 // once without ranges, once for bytes that were of an older file
	for {
		err := t.download(ctx)
		if err == nil {
			err = t.verify(ctx)
		}
		var s *startOver
		if !errors.As(err, &s) {
			return err
		}
		if s.part.again++; s.part.again > mostAgain {
			return err
		}
		t.client.Notify(Retrying{File: s.part.Name, Err: err})
		s.part.ranges = s.part.ranges && !errors.Is(err, errNoRanges)
		if errors.Is(err, errChanged) {
			if err := t.client.probe(ctx, &s.part.File); err != nil {
				return err
			}
		}
		if err := s.part.begin(); err != nil {
			return err
		}
	}
}

// download brings all pieces that are missing. The first failure ends it.
func (t *transfer) download(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(t.client.Connections)
	for _, p := range t.parts {
		for i := range p.pieces {
			if c := p.piece(i); p.ranges && c.Done == c.To-c.From {
				continue
			}
			if ctx.Err() != nil {
				break
			}
			group.Go(func() error {
				return t.client.retry(ctx, p.Name, func() (int64, error) { return t.fetch(ctx, p, i) })
			})
			if !p.ranges {
				break // one request brings all pieces
			}
		}
	}
	return group.Wait()
}

// fetch brings what is missing of a piece, or of a file whose server gives no parts.
func (t *transfer) fetch(ctx context.Context, p *part, i int) (int64, error) {
	if !p.ranges {
		return t.fetchWhole(ctx, p)
	}
	c := p.piece(i)
	from := c.From + c.Done
	header := http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", from, c.To-1)}}
	if p.ETag != "" && !strings.HasPrefix(p.ETag, "W/") {
		header.Set("If-Range", p.ETag)
	}
	r, err := t.client.get(ctx, p.URL, header)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	first, last, total, isRange := contentRange(r.Header)
	switch {
	case r.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return 0, &startOver{p, errChanged}
	case r.StatusCode != http.StatusPartialContent:
		return 0, &startOver{p, errNoRanges}
	case !isRange || first != from || last < first || total >= 0 && total != p.Size:
		return 0, permanent(fmt.Errorf("%w: asked for bytes %d to %d of %d, it sends %q", ErrServer, from, c.To-1, p.Size, r.Header.Get("Content-Range")))
	}
	n, err := t.copy(ctx, p, i, io.LimitReader(r.Body, min(last+1, c.To)-from))
	if err == nil && from+n < c.To {
		err = &failure{error: fmt.Errorf("%w: the connection ended at byte %d of %d", ErrServer, from+n, p.Size), again: true}
	}
	return n, err
}

// fetchWhole brings a file in one answer from its beginning.
func (t *transfer) fetchWhole(ctx context.Context, p *part) (int64, error) {
	if err := p.begin(); err != nil {
		return 0, permanent(err)
	}
	p.mu.Lock()
	p.pieces = []piece{{To: p.Size}}
	p.mu.Unlock()
	r, err := t.client.get(ctx, p.URL, nil)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return 0, permanent(fmt.Errorf("%w: asked for all of %s, it answers %s", ErrServer, p.Name, r.Status))
	}
	body := io.Reader(r.Body)
	if p.Size >= 0 {
		body = io.LimitReader(body, p.Size+1)
	}
	n, err := t.copy(ctx, p, 0, body)
	switch {
	case err != nil || p.Size < 0 || n == p.Size:
		return 0, err // what came is of no use for another try
	case n > p.Size:
		return 0, permanent(fmt.Errorf("%w: it sends more than the %d bytes that %s has", ErrServer, p.Size, p.Name))
	default:
		return 0, &failure{error: fmt.Errorf("%w: the connection ended at byte %d of %d", ErrServer, n, p.Size), again: true}
	}
}

// copy writes a body to a piece.
func (t *transfer) copy(ctx context.Context, p *part, i int, body io.Reader) (n int64, err error) {
	buffer := make([]byte, 256<<10)
	for {
		k, err := body.Read(buffer)
		if k > 0 {
			if err := p.write(i, buffer[:k]); err != nil {
				return n, err
			}
			n += int64(k)
			t.brought.Add(int64(k))
			done, total := t.progress()
			t.client.Notify(Progress{Done: done, Total: total})
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, unreachable(ctx, err)
		}
	}
}

// progress is how many bytes of all files are there, and how many there will be: -1 if a server
// does not say.
func (t *transfer) progress() (done, total int64) {
	for _, p := range t.parts {
		done += p.done()
		if p.Size < 0 || total < 0 {
			total = -1
			continue
		}
		total += p.Size
	}
	return done, total
}

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

// verify checks the hash and the header of a part of a model with that many files.
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
