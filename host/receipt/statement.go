// SPDX-License-Identifier: MIT

// Package receipt states how an answer came about, and signs that: with which model and plugins it
// was computed, of which request, and what it is. It also checks such statements.
//
// A receipt is a JWS in its compact form (RFC 7515) with an Ed25519 signature (RFC 8037) of a
// [Statement] in JSON. Clients find the server's keys at [Path].
//
// # Why has a receipt digests, and no texts?
//
// Somebody who has the request and the answer can then show a receipt for them, and somebody who
// gets only the receipt learns neither. The digests are plain SHA-256, so that sha256sum can check
// them. A salt in the receipt would hide nothing: who has the receipt has the salt. So a short text
// can be guessed from its digest, and a receipt is as confidential as what it is about.
//
// # Why does the configuration of an operator's plugin have another digest?
//
// It may have secrets, such as a watermark's key, which the clients that get receipts do not know
// and could guess. Its digest is keyed with a secret that is derived from the server's signing key:
// equal configurations have equal digests, and only the operator can tell what they are of. The
// configuration that a request has brought is its client's own, and has a plain digest.
//
// # Why are model files read anew, though pulled ones have known digests?
//
// A receipt is about the bytes that are loaded. What a registry has said of a file is true of the
// file as it came, and not of what lies there today. Reading takes a second for each gigabyte or
// two, once for each start of the server and file.
package receipt

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Version numbers the form of the statements which this package makes and reads.
const Version = 1

// Statement is what a receipt says. Digests are SHA-256 in hexadecimal digits.
type Statement struct {
	Version  int    `json:"version"`
	ID       string `json:"id"`
	IssuedAt int64  `json:"issued_at"` // in seconds since 1970
	Issuer   string `json:"issuer"`    // the program and its version

	Model    Model          `json:"model"`
	Plugins  []Plugin       `json:"plugins"`  // in the order of the list: the operator's first
	Sampling map[string]any `json:"sampling"` // the numbers in force, and the samplers with the plugins in their places
	Request  Request        `json:"request"`
	Prompts  []Prompt       `json:"prompts"`
	Choices  []Choice       `json:"choices"` // prompt by prompt

	Recording string   `json:"recording,omitempty"` // its id, if the request was recorded
	Forked    bool     `json:"forked,omitempty"`    // the answer goes on from another of this request: the first tokens are that one's
	Steered   []string `json:"steered,omitempty"`   // how its client has changed the answer while it was written: inject, rewind, set
}

// Model is what has computed the answers.
type Model struct {
	Name    string       `json:"name"`
	Files   []FileDigest `json:"files"`
	Kernels string       `json:"kernels,omitempty"`
	Options []string     `json:"options,omitempty"` // llama.cpp's that differ from the defaults
}

// FileDigest is a file that takes part in computing answers.
type FileDigest struct {
	Role   string  `json:"role"` // model (each part of it), projector, control_vector or adapter
	SHA256 string  `json:"sha256"`
	Scale  float32 `json:"scale,omitempty"` // of an adapter
}

// Roles of files.
const (
	RoleModel         = "model"
	RoleProjector     = "projector"
	RoleControlVector = "control_vector"
	RoleAdapter       = "adapter"
)

// Plugin is one that took part.
type Plugin struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // of the module
	// One of these is of the configuration with its defaults, in the canonical form of RFC 8785:
	// a digest where the request has brought it, and where the operator has, Key.Conceal's.
	ConfigSHA256 string `json:"config_sha256,omitempty"`
	ConfigHMAC   string `json:"config_hmac,omitempty"`
}

// Request is what the client has sent.
type Request struct {
	Route  string `json:"route"`  // its method and path; of a WebSocket that of its handshake
	SHA256 string `json:"sha256"` // of the body, or of the field request of a generate frame, byte by byte
	// Media are the digests of the pictures and sounds, in their order, wherever they came from.
	Media []string `json:"media_sha256,omitempty"`
}

// Prompt is what the model has read.
type Prompt struct {
	Tokens int    `json:"tokens"`
	SHA256 string `json:"tokens_sha256"` // see TokensDigest
}

// Choice is one answer.
type Choice struct {
	Prompt       int    `json:"prompt"` // its index
	Seed         uint32 `json:"seed"`
	Tokens       int    `json:"tokens"`
	TokensSHA256 string `json:"tokens_sha256"`
	TextSHA256   string `json:"text_sha256"` // all that the model has written for its reader
	// Those of the parts, where the answer was taken apart into them; left out where there are
	// none of a part.
	ContentSHA256   string `json:"content_sha256,omitempty"`
	ReasoningSHA256 string `json:"reasoning_sha256,omitempty"`
	CallsSHA256     string `json:"tool_calls_sha256,omitempty"` // see CallsDigest
	FinishReason    string `json:"finish_reason"`               // stop, length or cancelled
}

// Call is a tool call.
type Call struct {
	Name, Arguments string
	Custom          bool // the arguments are any text
}

// Digest is the digest of bytes.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// TextDigest is the digest of a text; "": of no text.
func TextDigest(text string) string {
	if text == "" {
		return ""
	}
	return Digest([]byte(text))
}

// TokensDigest is the digest of tokens as little-endian numbers of 32 bits. A row of a picture or a
// sound counts as −1: its number is another in each process.
func TokensDigest(tokens []int32) string {
	data := make([]byte, 0, 4*len(tokens))
	for _, t := range tokens {
		data = binary.LittleEndian.AppendUint32(data, uint32(max(t, -1)))
	}
	return Digest(data)
}

// CallsDigest is the digest of tool calls: of the list [{"arguments": …, "name": …}] in the
// canonical form of RFC 8785. Arguments are JSON, and those of a custom tool a text. A call that
// was cut off does not count: not every dialect shows it. "": there are none.
func CallsDigest(calls []Call) string {
	type call struct {
		Name      string `json:"name"`
		Arguments any    `json:"arguments"`
	}
	var list []call
	for _, c := range calls {
		switch {
		case c.Custom:
			list = append(list, call{c.Name, c.Arguments})
		case json.Valid([]byte(c.Arguments)):
			list = append(list, call{c.Name, json.RawMessage(c.Arguments)})
		}
	}
	if list == nil {
		return ""
	}
	text, _ := json.Marshal(list) // texts, and JSON that is valid
	return Digest(Canonical(text))
}

// Canonical is JSON in the canonical form of RFC 8785; what has none stays as it is.
func Canonical(text []byte) []byte {
	v := jsontext.Value(append([]byte(nil), text...))
	if v.Canonicalize() != nil {
		return text
	}
	return v
}

// Signer signs the receipts of a server.
type Signer struct {
	Key     *Key
	Digests *Digests
	Program string // and its version
}

// NewSigner makes a signer with a key.
func NewSigner(k *Key, program string) *Signer { return &Signer{k, NewDigests(), program} }

// Issuer issues the receipts of one model.
type Issuer struct {
	*Signer
	Model Model // without Files
	Files []File
}

// Begin begins the statement about a request. The first time it reads the model's files, until ctx
// is done.
func (i *Issuer) Begin(ctx context.Context) (*Statement, error) {
	s := &Statement{Version: Version, ID: "rcpt_" + rand.Text(), Issuer: i.Program, Model: i.Model, Plugins: []Plugin{}}
	for _, f := range i.Files {
		sum, err := i.Digests.Of(ctx, f)
		if err != nil {
			return nil, err
		}
		s.Model.Files = append(s.Model.Files, FileDigest{Role: f.Role, SHA256: sum})
	}
	return s, nil
}

// Issue dates and signs a statement.
func (i *Issuer) Issue(s *Statement) (string, error) {
	s.IssuedAt = time.Now().Unix()
	return i.Key.Sign(KindReceipt, s)
}

// File is a file as it was when it was loaded.
type File struct {
	Role     string // see FileDigest
	Path     string
	size     int64
	modified int64 // in nanoseconds since 1970
}

// Note notes how a file is now. A file that cannot be looked at is found changed later.
func Note(role, path string) File {
	f := File{Role: role, Path: path}
	if info, err := os.Stat(path); err == nil {
		f.size, f.modified = info.Size(), info.ModTime().UnixNano()
	}
	return f
}

// ErrChanged means that a file is no longer what was loaded of it.
var ErrChanged = errors.New("the file has changed since it was loaded")

// Digests keeps the digests of files. It is safe for concurrent use.
type Digests struct {
	turn chan struct{} // has an element while a file is read: one at a time, so that it takes one processor

	mu    sync.Mutex
	known map[File]string
	begun map[File]*reading // whose readers have left; under turn
}

// reading is a file that is read in part.
type reading struct {
	hash hash.Hash
	at   int64
}

// NewDigests makes an empty one.
func NewDigests() *Digests {
	return &Digests{turn: make(chan struct{}, 1), known: map[File]string{}, begun: map[File]*reading{}}
}

// Of is the SHA-256 of a file, in hexadecimal digits. The first call reads the file, which may take
// long. It ends with ctx, and the next goes on from there.
func (d *Digests) Of(ctx context.Context, f File) (string, error) {
	if sum, ok := d.find(f); ok {
		return sum, nil
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if sum, ok := d.find(f); ok { // who had the turn has read it
		return sum, nil
	}
	r := d.begun[f]
	if r == nil {
		r = &reading{hash: sha256.New()}
		d.begun[f] = r
	}
	if err := r.read(ctx, f); err != nil {
		if ctx.Err() == nil {
			delete(d.begun, f)
		}
		return "", err
	}
	delete(d.begun, f)
	sum := hex.EncodeToString(r.hash.Sum(nil))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[f] = sum
	return sum, nil
}

func (d *Digests) find(f File) (sum string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum, ok = d.known[f]
	return sum, ok
}

// read reads the rest of a file.
func (r *reading) read(ctx context.Context, f File) error {
	if f.modified == 0 || Note(f.Role, f.Path) != f {
		return fmt.Errorf("%s: %w", f.Path, ErrChanged)
	}
	from, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	if _, err := from.Seek(r.at, io.SeekStart); err != nil {
		return err
	}
	part := make([]byte, 1<<20)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := from.Read(part)
		r.hash.Write(part[:n])
		r.at += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if r.at != f.size || Note(f.Role, f.Path) != f {
		return fmt.Errorf("%s: %w", f.Path, ErrChanged)
	}
	return nil
}
