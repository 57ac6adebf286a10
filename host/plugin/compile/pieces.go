// SPDX-License-Identifier: MIT

package compile

import (
	"errors"
	"io"

	"github.com/cespare/xxhash/v2"
)

// pieceBytes is how much of a file has a checksum of its own. A piece is still in the processor's cache when its sum is taken.
const pieceBytes = 64 << 10

// errDamaged is the error of what differs from what was written, by a disk or by a host that was killed.
var errDamaged = errors.New("it is damaged or was not finished")

// sumPieces returns the checksums of the pieces of several parts that follow each other in a file. They find damage and are no
// signature: who can write to the folder can write sums too.
func sumPieces(parts ...[]byte) (sums []uint64) {
	h, room := xxhash.New(), pieceBytes
	for _, part := range parts {
		for len(part) > 0 {
			n := min(room, len(part))
			_, _ = h.Write(part[:n]) // never fails
			if part, room = part[n:], room-n; room == 0 {
				sums, room = append(sums, h.Sum64()), pieceBytes
				h.Reset()
			}
		}
	}
	if room < pieceBytes {
		sums = append(sums, h.Sum64())
	}
	return sums
}

// pieces reads what has such checksums, and gives away nothing that is damaged. Read fills all that it is given, up to the end.
type pieces struct {
	from io.Reader
	left int64 // bytes of from that are still to be read
	sums []uint64
	buf  []byte
	rest []byte // of the piece in buf
	err  error  // the first
}

func (r *pieces) Read(p []byte) (n int, err error) {
	for n < len(p) && r.err == nil {
		if len(r.rest) > 0 {
			m := copy(p[n:], r.rest)
			n, r.rest = n+m, r.rest[m:]
			continue
		}
		if whole := (len(p) - n) / pieceBytes * pieceBytes; whole > 0 {
			n += len(r.fill(p[n : n+whole]))
			continue
		}
		if r.buf == nil {
			r.buf = make([]byte, min(pieceBytes, r.left))
		}
		r.rest = r.fill(r.buf)
	}
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, r.err
}

// fill reads pieces into memory and returns what it read of them.
func (r *pieces) fill(to []byte) []byte {
	to = to[:min(int64(len(to)), r.left)]
	if len(to) == 0 {
		r.err = io.EOF
		return nil
	}
	populate(to)
	for at := 0; at < len(to); at += pieceBytes {
		piece := to[at:min(at+pieceBytes, len(to))]
		if _, err := io.ReadFull(r.from, piece); err != nil || len(r.sums) == 0 || xxhash.Sum64(piece) != r.sums[0] {
			r.err = errors.Join(errDamaged, err)
			return nil
		}
		r.sums, r.left = r.sums[1:], r.left-int64(len(piece))
	}
	return to
}
