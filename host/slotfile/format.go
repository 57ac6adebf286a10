// SPDX-License-Identifier: MIT

package slotfile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"math"

	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
)

// A file begins as one of llama-server's, which reads it: llama.cpp's magic number and version,
// the tokens as llama-server packs them, and the state as llama.cpp writes it. After that it says
// what llama.cpp has to believe: the lengths of the states, what computed them, and a checksum of
// everything before. So a file that is damaged, or of another model, does not reach llama.cpp.
//
//	magic, version, words  uint32
//	the tokens             words * uint32: -1, version, their number, the tokens, the number of pictures and sounds (savedPiece)
//	the state
//	checkpoints, of windows and recurrent layers (savedCheckpoint)
//	origin                 JSON
//	length of origin       uint32
//	checksum               SHA-256
//	end                    8 bytes
const (
	magic         = 0x67677371 // "ggsq"
	version       = 3          // of llama.cpp's states of sequences
	tokensVersion = 1          // of llama-server's tokens
	headWords     = 6          // besides the tokens
	longestOrigin = 1 << 20
	end           = "PENSTOCK"
	tailSize      = 4 + sha256.Size + len(end)
)

// origin says what a state is.
type origin struct {
	Model    string `json:"model"`              // engine.Engine.Identity
	Bytes    int    `json:"bytes"`              // of the whole state
	Adapters string `json:"adapters,omitempty"` // engine.Engine.AdapterFiles
	From     int    `json:"from,omitempty"`     // kvcache.Scope.From
	Owner    string `json:"owner,omitempty"`    // ownerOf

	Pieces      []savedPiece      `json:"pieces,omitempty"`      // in order
	Checkpoints []savedCheckpoint `json:"checkpoints,omitempty"` // in order
}

// savedCheckpoint is a kvcache.SavedCheckpoint of the first N tokens, with the size of its state in
// bytes.
type savedCheckpoint struct {
	N     int `json:"n"`
	Bytes int `json:"bytes"`
}

// errPieces is why a conversation is not saved.
var errPieces = errors.New("it has too many pictures and sounds")

// errDamaged is why a file is none that was written here, or not any more.
var errDamaged = errors.New("it is not a whole file that this server has saved")

// write writes a conversation, with its state and those of its checkpoints, and returns how many
// bytes that took.
func write(w io.Writer, tokens []kvcache.Token, states [][]byte, o origin) (int64, error) {
	sum := sha256.New()
	b := bufio.NewWriter(io.MultiWriter(w, sum))
	head := []uint32{magic, version, uint32(headWords - 2 + len(tokens)), math.MaxUint32, tokensVersion, uint32(len(tokens))}
	about, err := json.Marshal(o)
	if err != nil {
		return 0, err
	}
	if len(about) > longestOrigin {
		return 0, errPieces
	}
	// What the buffer cannot write, Flush tells.
	_ = binary.Write(b, binary.LittleEndian, head)
	_ = binary.Write(b, binary.LittleEndian, withoutPieces(tokens))
	_ = binary.Write(b, binary.LittleEndian, uint32(len(o.Pieces)))
	n := int64(4*(len(head)+len(tokens)+1)+len(about)) + int64(tailSize)
	for _, contents := range states {
		_, _ = b.Write(contents)
		n += int64(len(contents))
	}
	_, _ = b.Write(about)
	_ = binary.Write(b, binary.LittleEndian, uint32(len(about)))
	if err := b.Flush(); err != nil {
		return 0, err
	}
	if _, err := w.Write(append(sum.Sum(nil), end...)); err != nil {
		return 0, err
	}
	return n, nil
}

// reader reads a file of a known size: first its end, which identifies it, then the rest.
type reader struct {
	file   io.ReaderAt
	size   int64
	origin origin
	about  int64 // bytes of the origin
}

// open reads the end of a file.
func open(file io.ReaderAt, size int64) (*reader, error) {
	tail := make([]byte, tailSize)
	if size < int64(tailSize) {
		return nil, errDamaged
	}
	if _, err := file.ReadAt(tail, size-int64(tailSize)); err != nil {
		return nil, err
	}
	r := &reader{file: file, size: size, about: int64(binary.LittleEndian.Uint32(tail))}
	if string(tail[len(tail)-len(end):]) != end || r.about > min(longestOrigin, size-int64(tailSize)) {
		return nil, errDamaged
	}
	about := make([]byte, r.about)
	if _, err := file.ReadAt(about, size-int64(tailSize)-r.about); err != nil {
		return nil, err
	}
	if json.Unmarshal(about, &r.origin) != nil || !r.isSound() {
		return nil, errDamaged
	}
	return r, nil
}

// isSound reports whether what the origin says of sizes can be.
func (r *reader) isSound() bool {
	left := r.size - int64(r.origin.Bytes)
	for _, p := range r.origin.Checkpoints {
		if p.Bytes < 0 || int64(p.Bytes) > left {
			return false
		}
		left -= int64(p.Bytes)
	}
	return r.origin.Bytes >= 0 && left >= 0 && r.count() > 0
}

// count is how many tokens the conversation has.
func (r *reader) count() int64 {
	words := r.size - int64(tailSize) - r.about - int64(r.origin.Bytes)
	for _, p := range r.origin.Checkpoints {
		words -= int64(p.Bytes)
	}
	if words%4 != 0 {
		return 0
	}
	return words/4 - headWords - 1
}

// read reads the tokens and the contents of the states, for which there is room, and compares the
// checksum.
func (r *reader) read(states [][]byte) ([]kvcache.Token, error) {
	sum := sha256.New()
	body := bufio.NewReader(io.TeeReader(io.NewSectionReader(r.file, 0, r.size-int64(tailSize)+4), sum))
	var head [headWords]uint32
	tokens := make([]kvcache.Token, r.count())
	var images uint32
	for _, part := range []any{&head, tokens, &images} {
		if err := binary.Read(body, binary.LittleEndian, part); err != nil {
			return nil, err
		}
	}
	n := uint32(len(tokens))
	if head != [headWords]uint32{magic, version, n + headWords - 2, math.MaxUint32, tokensVersion, n} || int64(images) != int64(len(r.origin.Pieces)) {
		return nil, errDamaged
	}
	for _, contents := range states {
		if _, err := io.ReadFull(body, contents); err != nil {
			return nil, err
		}
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return nil, err
	}
	return tokens, r.checkSum(sum)
}

// checkSum compares the checksum.
func (r *reader) checkSum(sum hash.Hash) error {
	want := make([]byte, sha256.Size)
	if _, err := r.file.ReadAt(want, r.size-int64(len(want)+len(end))); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return errDamaged
	}
	return nil
}

// savedPiece is a picture or a sound in a conversation. Of its tokens, which mean nothing in
// another process, the file has only that they are none of the vocabulary (noToken). The hash
// finds the conversation again for a prompt with the same picture.
type savedPiece struct {
	At        int    `json:"at"` // of its first token
	Hash      string `json:"hash"`
	Rows      int    `json:"rows"`
	Positions int    `json:"positions"`
	Columns   int    `json:"columns,omitempty"`
	Whole     bool   `json:"whole,omitempty"`
}

// noToken is what a file has in place of the tokens of pictures and sounds, as llama.cpp's lists
// of tokens do.
const noToken kvcache.Token = -1

// savedPieces describes the pieces of a conversation.
func savedPieces(placed []piece.Placed) (saved []savedPiece) {
	for _, p := range placed {
		saved = append(saved, savedPiece{p.At, hex.EncodeToString(p.Hash[:]), p.Rows, p.Positions, p.Columns, p.Whole})
	}
	return saved
}

// withoutPieces are the tokens as a file has them.
func withoutPieces(tokens []kvcache.Token) []kvcache.Token {
	plain := make([]kvcache.Token, len(tokens))
	for i, t := range tokens {
		plain[i] = max(t, noToken)
	}
	return plain
}

// pieces reads the pieces of a file. Whether they go with its tokens, the scheduler checks.
func (o *origin) pieces() ([]piece.Placed, error) {
	var placed []piece.Placed
	for _, p := range o.Pieces {
		hash, err := hex.DecodeString(p.Hash)
		if err != nil || len(hash) != sha256.Size {
			return nil, errDamaged
		}
		placed = append(placed, piece.Placed{At: p.At, Shape: piece.Shape{Hash: [sha256.Size]byte(hash), Rows: p.Rows, Positions: p.Positions,
			Columns: p.Columns, Whole: p.Whole}})
	}
	return placed, nil
}
