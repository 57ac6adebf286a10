// SPDX-License-Identifier: MIT

package socket

import (
	"unicode/utf8"

	"github.com/penstock/penstock/host/refusal"
)

// files are the pictures and sounds that a client has sent in binary frames. Requests on its
// connection name them, so they are kept until it ends, or until newer ones need their room.
type files struct {
	kept []file // the oldest first
	size int64  // bytes of all
}

type file struct {
	id      string
	data    []byte
	release func() // lets go of the frame's memory
}

// maxFiles is how many files of a connection are kept.
const maxFiles = 128

// put keeps a file, replaces one with the same id, and drops the oldest while there are too many
// files or bytes.
func (f *files) put(added file, most int64) {
	for i, old := range f.kept {
		if old.id == added.id {
			f.drop(i)
			break
		}
	}
	f.kept, f.size = append(f.kept, added), f.size+int64(len(added.data))
	for len(f.kept) > maxFiles || len(f.kept) > 1 && f.size > most {
		f.drop(0)
	}
}

func (f *files) drop(i int) {
	f.size -= int64(len(f.kept[i].data))
	f.kept[i].release()
	f.kept = append(f.kept[:i], f.kept[i+1:]...)
}

// keep keeps the file of a binary frame: a byte that says how long its id is, the id, and the
// file. A connection keeps as many bytes as a frame may have.
func (k *connection) keep(frame []byte, release func()) error {
	n := 0
	if len(frame) > 0 {
		n = int(frame[0])
	}
	if n == 0 || n > maxID || len(frame) <= 1+n || !utf8.Valid(frame[1:1+n]) {
		return &refusal.Error{Kind: refusal.KindInvalid, Code: "invalid_frame", Field: "id",
			Message: "a binary frame must be a byte with the length of an id, from 1 to 128, then the id in UTF-8, then a file"}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files.put(file{string(frame[1 : 1+n]), frame[1+n:], release}, k.api.BodyLimit)
	return nil
}

// file is the file that was kept under an id; nil if there is none.
func (k *connection) file(id string) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.files.kept {
		if f.id == id {
			return f.data
		}
	}
	return nil
}

// forget drops all files.
func (k *connection) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.files.kept) > 0 {
		k.files.drop(len(k.files.kept) - 1)
	}
}
