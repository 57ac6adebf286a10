// SPDX-License-Identifier: MIT

package slotfile

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// errForeign is why a file is not replaced, whoever asks.
var errForeign = errors.New("what is there under that name is no saved conversation")

// errOther is why a client may neither restore nor replace a file.
var errOther = errors.New("it was saved with another API key")

// ownerOf names whose a file is, by the salt of the client's cached prompts: what a key's prompts
// were is not told to other keys, neither from the cache nor from a file. It is empty where
// clients share what is cached. The salt itself is not written down.
func ownerOf(salt string) string {
	if salt == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("owner of a saved conversation\n" + salt))
	return hex.EncodeToString(sum[:])
}

// isOpenTo reports whether a client may use the file. A file without an owner, as of a server that
// asked for no keys, is everybody's.
func (o origin) isOpenTo(owner string) bool { return o.Owner == "" || o.Owner == owner }

// refuseOther refuses to replace a file of another owner, and one that is no saved conversation:
// the folder may hold others. One that begins as a conversation and is damaged, or is
// llama-server's, may be replaced.
func (f *Folder) refuseOther(name, owner string) error {
	file, err := f.root.Open(name)
	if err != nil {
		return nil // there is none, or writing will say what is wrong with it
	}
	defer file.Close() //nolint:errcheck // nothing was written
	stat, err := file.Stat()
	if err != nil {
		return err
	}
	r, err := open(file, stat.Size())
	var begins [4]byte
	switch {
	case err == nil && !r.origin.isOpenTo(owner):
		return errOther
	case err == nil:
		return nil
	}
	if _, err := file.ReadAt(begins[:], 0); err != nil || binary.LittleEndian.Uint32(begins[:]) != magic {
		return errForeign
	}
	return nil
}
