// SPDX-License-Identifier: MIT

package slotfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

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

// refuseOther refuses to replace a file of another owner. A file that is not a complete one of this
// server may be replaced.
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
	if r, err := open(file, stat.Size()); err == nil && !r.origin.isOpenTo(owner) {
		return errOther
	}
	return nil
}
