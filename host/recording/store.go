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
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// Limits bound what is recorded and kept.
type Limits struct {
	Size    int64         // bytes of one recording in memory
	Keep    int           // recordings
	KeepFor time.Duration // of each
}

// together is how many recordings of the largest size may be in memory.
const together = 4

// sweepEvery is how often recordings that are too old are looked for.
const sweepEvery = 10 * time.Minute

// Store keeps recordings in a folder. Several processes may share it. It is safe for concurrent
// use.
type Store struct {
	path   string
	limits Limits
	log    *slog.Logger
	key    *receipt.Key // seals them; nil: nothing does

	running atomic.Int64 // bytes of recordings in memory
	writing sync.Mutex   // one file at a time: packing takes a processor
	writers sync.WaitGroup
	stop    context.CancelFunc

	mu      sync.Mutex
	pending map[string]*pending // recordings that are not on the disk yet
}

type pending struct {
	owner string
	ended atomic.Bool   // all answers have, and it will soon be on the disk
	done  chan struct{} // closed when it is on the disk, or will never be
}

// wait waits until a recording is on the disk.
func (p *pending) wait(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return refusal.ErrGone
	}
}

// Open makes a store in a folder, which the first recording makes if need be.
func Open(path string, limits Limits, log *slog.Logger) *Store {
	ctx, stop := context.WithCancel(context.Background())
	s := &Store{path: path, limits: limits, log: log, stop: stop, pending: map[string]*pending{}}
	if _, err := os.Stat(path); err == nil {
		_ = atomicfile.RemoveLeftovers(path) // they only take room
	}
	s.writers.Go(func() { s.sweep(ctx) })
	return s
}

// SealWith has recordings sealed by a key. It is called before the first of them.
func (s *Store) SealWith(k *receipt.Key) { s.key = k }

// Close waits until all that was recorded is on the disk. No request may be running.
func (s *Store) Close() {
	s.stop()
	s.writers.Wait()
}

// sweep removes what is too old, also while nothing is recorded.
func (s *Store) sweep(ctx context.Context) {
	every := time.NewTicker(sweepEvery)
	defer every.Stop()
	for {
		s.prune()
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// take counts bytes of a recording in memory; false: there is no room for them.
func (s *Store) take(bytes int64) bool {
	if s.running.Add(bytes) <= together*s.limits.Size {
		return true
	}
	s.running.Add(-bytes)
	return false
}

// ownerOf tells whose a recording is, in a way that tells nobody else who that is.
func ownerOf(id, caller string) string {
	sum := sha256.Sum256([]byte(id + "\x00" + caller))
	return hex.EncodeToString(sum[:])
}

// owns reports whether a recording exists for a reader.
func owns(r serving.RecordingReader, id, owner string) bool {
	return r.Admin || ownerOf(id, r.Caller) == owner
}

var validID = regexp.MustCompile(`^rec_[A-Z2-7]{26}$`).MatchString

const suffix = ".json.gz"

// Get opens a recording, for whom it belongs to, and waits for one that is being written.
func (s *Store) Get(ctx context.Context, r serving.RecordingReader, id string) (*os.File, error) {
	if !validID(id) {
		return nil, absent(id)
	}
	s.mu.Lock()
	p := s.pending[id]
	s.mu.Unlock()
	if p != nil && owns(r, id, p.owner) {
		if err := p.wait(ctx); err != nil {
			return nil, err
		}
	}
	s.prune()
	root, err := os.OpenRoot(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent(id)
	}
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing was written through it
	file, err := root.Open(id + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent(id)
	}
	if err != nil {
		return nil, err
	}
	if _, h, err := readHead(file); err != nil || !owns(r, id, h.Owner) {
		_ = file.Close() // it was only read
		return nil, absent(id)
	}
	if _, err := file.Seek(0, 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Remove removes a recording.
func (s *Store) Remove(ctx context.Context, r serving.RecordingReader, id string) error {
	file, err := s.Get(ctx, r, id)
	if err != nil {
		return err
	}
	_ = file.Close() // it was only read
	return s.remove(id)
}

func absent(id string) error {
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "recording_not_found", Field: "id",
		Message: fmt.Sprintf("there is no recording %.40q of yours; GET /v1/recordings lists those there are", id)}
}

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

// packHead packs the head for a gzip header.
func (h head) packHead() ([]byte, error) {
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
	err := s.eachRecording(func(id string, file *os.File) {
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

// eachRecording opens all recordings of the folder, one after the other.
func (s *Store) eachRecording(look func(id string, file *os.File)) error {
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
	err := s.eachRecording(func(id string, file *os.File) {
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
	extra, err := h.packHead()
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

// sealField is the name of the subfield that has a seal.
const sealField = "PR"

// mostUnpacked bounds the content of a file whose seal is looked for, in bytes.
const mostUnpacked = 1 << 32

// writeSeal writes a seal behind a recording: in the header of a second gzip member without
// content, which unpacks to nothing.
func writeSeal(to io.Writer, k *receipt.Key, s receipt.RecordingSeal) error {
	jws, err := k.Sign(receipt.KindRecording, s)
	if err != nil {
		return err
	}
	_, err = to.Write(seal(jws))
	return err
}

func seal(jws string) []byte {
	var member bytes.Buffer
	packed := gzip.NewWriter(&member)
	packed.Extra = append(binary.LittleEndian.AppendUint16([]byte(sealField), uint16(len(jws))), jws...)
	_ = packed.Close() // a buffer takes everything
	return member.Bytes()
}

// CheckSeal finds out whether the file of a recording is as a server has written it, and gives its
// id.
func CheckSeal(keys receipt.Keys, file []byte) (id string, err error) {
	rest := bytes.NewReader(file)
	unpacked, err := gzip.NewReader(rest)
	if err != nil {
		return "", errors.New("it is not the file of a recording as a server has sent it, which is packed with gzip")
	}
	unpacked.Multistream(false)
	if _, err := io.Copy(io.Discard, io.LimitReader(unpacked, mostUnpacked)); err != nil {
		return "", err
	}
	first, last := file[:len(file)-rest.Len()], file[len(file)-rest.Len():]
	if len(last) == 0 {
		return "", errors.New("it has no seal: the server had no key for receipts")
	}
	sealed, err := gzip.NewReader(bytes.NewReader(last))
	if err != nil {
		return "", err
	}
	jws, ok := bytes.CutPrefix(sealed.Extra, []byte(sealField))
	if !ok || len(jws) < 2 || !bytes.Equal(last, seal(string(jws[2:]))) {
		return "", errors.New("its seal is damaged")
	}
	var s receipt.RecordingSeal
	if _, err := keys.Open(receipt.KindRecording, string(jws[2:]), &s); err != nil {
		return "", err
	}
	if got := receipt.Digest(first); got != s.SHA256 {
		return "", errors.New("it has been changed since the server wrote it")
	}
	return s.Recording, nil
}
