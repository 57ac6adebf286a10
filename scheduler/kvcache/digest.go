// SPDX-License-Identifier: MIT

package kvcache

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/penstock/penstock/scheduler/piece"
)

// BlockTokens is how many tokens a block has: a prefix is told to others by the digests of its
// blocks.
const BlockTokens = 64

// Digest names a block of tokens together with all blocks before it: two prompts with the same
// digest begin alike. It is the beginning of a SHA-256: of the digest before it, zero for the
// first block, and of the tokens as 32-bit numbers, little-endian: a hash chain, as in the prefix
// caches of vLLM. A row of a piece counts as piece.Table.Word says, so the same picture has the
// same digest everywhere.
type Digest [8]byte

// String is the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Digests computes the digests of the whole blocks of tokens without pieces.
func Digests(tokens []Token) []Digest { return DigestsWith(tokens, nil) }

// DigestsWith is Digests for tokens among which there may be rows of a table's pieces.
func DigestsWith(tokens []Token, pieces *piece.Table) []Digest {
	return appendDigests(nil, tokens, pieces, len(tokens)/BlockTokens)
}

// appendDigests goes on with the digests of tokens, by most blocks at most.
func appendDigests(digests []Digest, tokens []Token, pieces *piece.Table, most int) []Digest {
	var in [len(Digest{}) + 4*BlockTokens]byte
	for ; most > 0 && (len(digests)+1)*BlockTokens <= len(tokens); most-- {
		block := tokens[len(digests)*BlockTokens:][:BlockTokens]
		if len(digests) > 0 {
			copy(in[:], digests[len(digests)-1][:])
		}
		for i, t := range block {
			word := uint32(t)
			if t < 0 {
				word = pieces.Word(t)
			}
			binary.LittleEndian.PutUint32(in[len(Digest{})+4*i:], word)
		}
		sum := sha256.Sum256(in[:])
		digests = append(digests, Digest(sum[:len(Digest{})]))
	}
	return digests
}

// Prefix is what of a cached conversation a later request may reuse, by its blocks.
type Prefix struct {
	Scope   Scope
	Digests []Digest // of its first blocks; nobody changes them
	Blocks  int      // in all
}

// mostHashed is how many blocks one call of Prefixes computes the digest of, since a tick waits
// for it: some 50 µs.
const mostHashed = 128

// Prefixes lists the conversations in the cache, what is in use first and then what was used last,
// and after these the archive's, with at most `most` digests. A digest is computed once, and of
// many new blocks some are left to the next call.
func (c *Cache) Prefixes(most int) []Prefix {
	all := make([]*conversation, 0, len(c.sequences)+len(c.archive.entries))
	for _, s := range c.byUse() {
		if !s.unsure && !s.dropped {
			all = append(all, &s.conversation)
		}
	}
	for _, e := range slices.Backward(c.archive.entries) {
		if e.sequence == nil { // else it is in the cache, too
			all = append(all, &e.conversation)
		}
	}
	left := mostHashed
	for _, v := range all {
		had := len(v.digests)
		v.digests = appendDigests(v.digests, v.tokens, c.pieces, left)
		left -= len(v.digests) - had
	}
	return copyDigests(all, most)
}

// copyDigests copies at most `most` digests of conversations. The copies share one piece of
// memory.
func copyDigests(all []*conversation, most int) []Prefix {
	total := 0
	for _, v := range all {
		total += len(v.digests)
	}
	list, memory := make([]Prefix, 0, len(all)), make([]Digest, 0, min(total, most))
	for _, v := range all {
		if len(v.tokens) < BlockTokens {
			continue
		}
		from := len(memory)
		memory = append(memory, v.digests[:min(len(v.digests), most-from)]...)
		list = append(list, Prefix{Scope: v.scope, Digests: slices.Clip(memory[from:]), Blocks: len(v.tokens) / BlockTokens})
	}
	return list
}

// byUse lists the sequences, those of requests first, and then the most recently used.
func (c *Cache) byUse() []*Sequence {
	sorted := slices.Clone(c.sequences)
	slices.SortFunc(sorted, func(a, b *Sequence) int {
		if a.running != b.running {
			if a.running {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.lastUse, a.lastUse)
	})
	return sorted
}
