// SPDX-License-Identifier: MIT

package diskcache

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
)

// key is what all keys of a folder are derived from.
type key [sha256.Size]byte

// leastKey is how many bytes the file of a key has at least, so that nobody guesses it.
const leastKey = 32

// readKey reads the configured key, or the one in the folder, which is made if need be.
func readKey(o Options) (k key, err error) {
	path := o.KeyFile
	if path == "" {
		if path, err = ownKey(o.Dir); err != nil {
			return k, err
		}
	}
	secret, err := os.ReadFile(path)
	if err != nil {
		return k, err
	}
	if secret = bytes.TrimSpace(secret); len(secret) < leastKey {
		return k, fmt.Errorf("%s has %d bytes; a key has at least %d, for example those of: head -c 32 /dev/urandom | base64", path, len(secret), leastKey)
	}
	return key(deriveKey(secret, nil, "penstock conversations on disk")), nil
}

// ownKey is the path of the key in the folder. Nobody else may write to that: who can replace the
// key can have llama.cpp read anything.
func ownKey(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = atomicfile.CheckPrivate(dir, "a key")
	}
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "key")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	secret := make([]byte, leastKey)
	_, _ = rand.Read(secret) // it never fails
	_, err = atomicfile.WriteBytes(path, 0o600, []byte(hex.EncodeToString(secret)+"\n"))
	return path, err
}

// deriveKey derives a key for one purpose from another, by HKDF (RFC 5869).
func deriveKey(secret, salt []byte, purpose string) []byte {
	k, err := hkdf.Key(sha256.New, secret, salt, purpose, sha256.Size)
	if err != nil {
		panic(err) // only for lengths that nobody asks for
	}
	return k
}

// name tells whether files were written with this key.
func (k *key) name() (n [8]byte) {
	copy(n[:], deriveKey(k[:], nil, "name"))
	return n
}

// owner names whose a conversation is, by the salt of a client's cached prompts. The salt cannot be
// guessed from it without the key.
func (k *key) owner(salt string) string {
	h := hmac.New(sha256.New, k[:])
	h.Write([]byte("owner\n" + salt))
	return string(h.Sum(nil))
}

// sealer encrypts and authenticates the parts of one file, in order, by AES-256-GCM. Its key is for
// this file alone, so the number of a part can be the nonce.
type sealer struct {
	aead  cipher.AEAD
	head  []byte // is authenticated with each part
	parts uint64
}

// sealer is for a part of a file: what is said about it, or its contents, for which the salt of
// its client is needed, too.
func (k *key) sealer(h *head, purpose string) *sealer {
	b, err := aes.NewCipher(deriveKey(k[:], h.id[:], purpose))
	if err != nil {
		panic(err) // only for lengths of keys that derive does not make
	}
	aead, err := cipher.NewGCM(b)
	if err != nil {
		panic(err)
	}
	return &sealer{aead: aead, head: h.bytes()}
}

func (s *sealer) nonce() []byte {
	nonce := binary.BigEndian.AppendUint64(make([]byte, 4, 12), s.parts)
	s.parts++
	return nonce
}

// seal appends a part to dst.
func (s *sealer) seal(dst, part []byte) []byte { return s.aead.Seal(dst, s.nonce(), part, s.head) }

// open writes a part into dst, which has room for just that.
func (s *sealer) open(dst, sealed []byte) error {
	if _, err := s.aead.Open(dst[:0], s.nonce(), sealed, s.head); err != nil {
		return errDamaged
	}
	return nil
}

// A file has a head in the clear, what is said about the conversation, and its contents: the
// tokens, the state and the checkpoints, each cut into chunks. Everything after the head is
// encrypted with AES-256-GCM, which also authenticates the head with each part.
//
//	magic      24 bytes
//	id         16 bytes, random: the file's keys are derived with it
//	key         8 bytes: which key that is
//	identity   32 bytes: what the states depend on
//	about       4 bytes: length in the clear
//	contents    8 bytes: length in the clear
//	about      JSON, sealed
//	contents   chunks of 4 MiB at most, each sealed
//
// Numbers are little-endian. A sealed part is 16 bytes longer; its nonce is its number among those
// with the same key.
const (
	magic        = "penstock conversation 1\n"
	headSize     = len(magic) + 16 + 8 + 32 + 4 + 8
	chunkSize    = 4 << 20
	sealSize     = 16
	longestAbout = 1 << 20
	mostTokens   = 1 << 26
)

var (
	// errDamaged is why a file is not used: it is not what was written, or not all of it.
	errDamaged = errors.New("the file is damaged")
	// errForeign is why a file is left alone: another key or another version has written it.
	errForeign = errors.New("the file is none of this key and version")
	// errLong is why a conversation is not written.
	errLong = errors.New("there is too much to say about the conversation")
)

// head is what stands in the clear.
type head struct {
	id       [16]byte
	key      [8]byte
	identity [32]byte
	about    uint32
	contents uint64
}

func (h *head) bytes() []byte {
	b := append(make([]byte, 0, headSize), magic...)
	b = append(b, h.id[:]...)
	b = append(b, h.key[:]...)
	b = append(b, h.identity[:]...)
	b = binary.LittleEndian.AppendUint32(b, h.about)
	return binary.LittleEndian.AppendUint64(b, h.contents)
}

func parseHead(b []byte) (h head, err error) {
	if len(b) < headSize || string(b[:len(magic)]) != magic {
		return h, errForeign
	}
	b = b[len(magic):]
	b = b[copy(h.id[:], b):]
	b = b[copy(h.key[:], b):]
	b = b[copy(h.identity[:], b):]
	h.about, h.contents = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[4:])
	return h, nil
}

// about is what is said about a conversation.
type about struct {
	Owner       []byte         `json:"owner"` // key.owner
	Adapters    string         `json:"adapters,omitempty"`
	From        int            `json:"from,omitempty"`
	Tokens      int            `json:"tokens"`
	Prompt      int            `json:"prompt,omitempty"`
	Continued   bool           `json:"continued,omitempty"`
	Cuttable    bool           `json:"cuttable,omitempty"`
	Computing   time.Duration  `json:"prefill,omitempty"`
	Pieces      []piece.Placed `json:"pieces,omitempty"`
	State       int            `json:"state"` // bytes
	Checkpoints []part         `json:"checkpoints,omitempty"`
	Digests     []byte         `json:"digests"`
}

// part is a checkpoint of the first N tokens.
type part struct {
	N     int `json:"n"`
	Bytes int `json:"bytes"`
}

// aboutOf is what is said about a conversation in a space.
func aboutOf(s *kvcache.Saved, in space, digests []kvcache.Digest) about {
	a := about{Owner: []byte(in.owner), Adapters: in.adapters, From: in.from, Tokens: len(s.Tokens), Prompt: s.Prompt, Continued: s.Continued,
		Cuttable: s.Cuttable, Computing: s.Computing, Pieces: s.Pieces, State: len(s.State.Contents())}
	for _, p := range s.Checkpoints {
		a.Checkpoints = append(a.Checkpoints, part{p.N, len(p.State.Contents())})
	}
	for _, d := range digests {
		a.Digests = append(a.Digests, d[:]...)
	}
	return a
}

// isSound reports whether what is said can be true of contents of this number of bytes.
func (a *about) isSound(contents uint64) bool {
	if a.Tokens < 1 || a.Tokens > mostTokens || len(a.Digests) != a.Tokens/kvcache.BlockTokens*len(kvcache.Digest{}) || a.Computing < 0 ||
		a.State < 0 || uint64(a.State) > contents {
		return false
	}
	before := 0
	for _, p := range a.Checkpoints {
		if p.N <= before || p.N > a.Tokens || p.Bytes < 0 || uint64(p.Bytes) > contents {
			return false
		}
		before = p.N
	}
	end := 0
	for i := range a.Pieces {
		p := &a.Pieces[i]
		if !p.Sound() || p.At < end || p.Rows > a.Tokens-p.At {
			return false
		}
		end = p.At + p.Rows
	}
	return a.contents() == contents
}

// contents is how many bytes the contents have in the clear.
func (a *about) contents() uint64 {
	n := uint64(4*a.Tokens) + uint64(a.State)
	for _, p := range a.Checkpoints {
		n += uint64(p.Bytes)
	}
	return n
}

// space is what the conversation is found in.
func (a *about) space(h *head) space { return space{h.identity, string(a.Owner), a.Adapters, a.From} }

// digests lists the digests of the conversation's blocks.
func (a *about) digests() []kvcache.Digest {
	list := make([]kvcache.Digest, len(a.Digests)/len(kvcache.Digest{}))
	for i := range list {
		copy(list[i][:], a.Digests[i*len(list[i]):])
	}
	return list
}

// sealedSize is how many bytes of a file the contents take that are in these pieces of memory.
func sealedSize(sections ...int) (n int64) {
	for _, size := range sections {
		n += int64(size) + int64((size+chunkSize-1)/chunkSize)*sealSize
	}
	return n
}

// size is how many bytes a file has.
func (a *about) size(h *head) int64 {
	n := int64(headSize) + int64(h.about) + sealSize + sealedSize(4*a.Tokens, a.State)
	for _, p := range a.Checkpoints {
		n += sealedSize(p.Bytes)
	}
	return n
}

// contents are the pieces of memory that a file is filled from, or into, in order.
func contents(tokens []byte, s *kvcache.Saved) [][]byte {
	all := [][]byte{tokens, s.State.Contents()}
	for _, p := range s.Checkpoints {
		all = append(all, p.State.Contents())
	}
	return all
}

// describe completes a head, and makes what is said after it.
func (k *key) describe(h *head, a *about) ([]byte, error) {
	said, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	if len(said) > longestAbout {
		return nil, errLong
	}
	h.key, h.about, h.contents = k.name(), uint32(len(said)), a.contents()
	return said, nil
}

// write writes a conversation that was described. goOn is asked before each chunk.
func (k *key) write(w io.Writer, h *head, said []byte, s *kvcache.Saved, goOn func() error) error {
	tokens := make([]byte, 0, 4*len(s.Tokens))
	for _, t := range s.Tokens { // those of pieces mean nothing in another process
		tokens = binary.LittleEndian.AppendUint32(tokens, uint32(max(t, -1)))
	}
	if _, err := w.Write(k.sealer(h, purposeAbout).seal(h.bytes(), said)); err != nil {
		return err
	}
	sealer := k.sealer(h, purposeContents+s.Scope.Salt)
	buffer := make([]byte, 0, chunkSize+sealSize)
	for _, section := range contents(tokens, s) {
		for len(section) > 0 {
			if err := goOn(); err != nil {
				return err
			}
			n := min(len(section), chunkSize)
			if _, err := w.Write(sealer.seal(buffer, section[:n])); err != nil {
				return err
			}
			section = section[n:]
		}
	}
	return nil
}

// What keys of a file are for.
const (
	purposeAbout    = "about"
	purposeContents = "contents\n" // and the salt of the client
)

// readAbout reads what the beginning of a file says of it. size is the file's, in bytes.
func (k *key) readAbout(r io.ReaderAt, size int64) (h head, a about, err error) {
	start := make([]byte, headSize)
	if _, err := r.ReadAt(start, 0); err != nil {
		return h, a, asDamage(err)
	}
	if h, err = parseHead(start); err != nil {
		return h, a, err
	}
	switch {
	case h.key != k.name():
		return h, a, errForeign
	case h.about > longestAbout || h.contents > uint64(size) || int64(h.about)+int64(headSize)+sealSize > size:
		return h, a, errDamaged
	}
	sealed := make([]byte, int(h.about)+sealSize)
	if _, err := r.ReadAt(sealed, int64(headSize)); err != nil {
		return h, a, asDamage(err)
	}
	said := make([]byte, h.about)
	if err := k.sealer(&h, purposeAbout).open(said, sealed); err != nil {
		return h, a, err
	}
	if json.Unmarshal(said, &a) != nil || !a.isSound(h.contents) || a.size(&h) != size {
		return h, a, errDamaged
	}
	return h, a, nil
}

// asDamage is what an error of reading means: a file that ends early is damaged.
func asDamage(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errDamaged
	}
	return err
}

// readContents reads what follows in a file of which readAbout has read the beginning.
func (k *key) readContents(r io.Reader, h *head, a *about, scope kvcache.Scope, m Model) (_ *kvcache.Saved, err error) {
	s, err := a.makeStates(m)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	s.Scope = scope
	tokens := make([]byte, 4*a.Tokens)
	sealer := k.sealer(h, purposeContents+scope.Salt)
	buffer := make([]byte, chunkSize+sealSize)
	for _, section := range contents(tokens, s) {
		for len(section) > 0 {
			n := min(len(section), chunkSize)
			if _, err := io.ReadFull(r, buffer[:n+sealSize]); err != nil {
				return nil, asDamage(err)
			}
			if err := sealer.open(section[:n:n], buffer[:n+sealSize]); err != nil {
				return nil, err
			}
			section = section[n:]
		}
	}
	for i := range s.Tokens {
		s.Tokens[i] = kvcache.Token(binary.LittleEndian.Uint32(tokens[4*i:]))
	}
	return s, nil
}

// makeStates makes the states that a file is read into.
func (a *about) makeStates(m Model) (*kvcache.Saved, error) {
	s := &kvcache.Saved{Tokens: make([]kvcache.Token, a.Tokens), Pieces: a.Pieces, Prompt: a.Prompt, Continued: a.Continued, Cuttable: a.Cuttable, Computing: a.Computing}
	state := func(bytes, n int) (kvcache.State, error) {
		made, err := m.NewState(bytes, piece.Positions(a.Pieces, n))
		if err == nil && len(made.Contents()) != bytes {
			err = errors.Join(errDamaged, made.Close())
		}
		return made, err
	}
	var err error
	if s.State, err = state(a.State, a.Tokens); err != nil {
		return nil, err
	}
	for _, p := range a.Checkpoints {
		made, err := state(p.Bytes, p.N)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.Checkpoints = append(s.Checkpoints, kvcache.SavedCheckpoint{N: p.N, State: made})
	}
	return s, nil
}
