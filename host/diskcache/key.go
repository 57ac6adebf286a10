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
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/penstock/penstock/host/atomicfile"
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
	return key(derive(secret, nil, "penstock conversations on disk")), nil
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

// derive derives a key for one purpose from another.
func derive(secret, salt []byte, purpose string) []byte {
	k, err := hkdf.Key(sha256.New, secret, salt, purpose, sha256.Size)
	if err != nil {
		panic(err) // only for lengths that nobody asks for
	}
	return k
}

// name tells whether files were written with this key.
func (k *key) name() (n [8]byte) {
	copy(n[:], derive(k[:], nil, "name"))
	return n
}

// owner names whose a conversation is, by the salt of a client's cached prompts. The salt cannot be
// guessed from it without the key.
func (k *key) owner(salt string) string {
	h := hmac.New(sha256.New, k[:])
	h.Write([]byte("owner\n" + salt))
	return string(h.Sum(nil))
}

// sealer encrypts and authenticates the parts of one file, in order.
type sealer struct {
	aead  cipher.AEAD
	head  []byte // is authenticated with each part
	parts uint64
}

// sealer is for a part of a file: what is said about it, or its contents, for which the salt of
// its client is needed, too.
func (k *key) sealer(h *head, purpose string) *sealer {
	b, err := aes.NewCipher(derive(k[:], h.id[:], purpose))
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
