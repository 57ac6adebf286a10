// SPDX-License-Identifier: MIT

// Package access knows the API keys, and how much each client may use.
//
// # Why not echo's rate limiter?
//
// It decides with a store that sees only the client's name, and tells the client nothing. Limits
// on tokens are known at the end of a request, answers over a WebSocket count too, and clients
// expect OpenAI's headers. host/access therefore uses the token buckets beneath echo's limiter
// (golang.org/x/time/rate) itself.
package access

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// Key is what is known of a key that a client has sent. The key itself is not kept.
type Key struct {
	Name     string // for logs, metrics and limits; it tells nothing of the key
	Digest   string // SHA-256 of the key
	Client   bool   // it opens the ordinary routes
	Admin    bool   // it opens all routes
	Priority bool   // its requests may ask for a priority above 0
}

// Keys is a set of keys. It is a value that does not change.
type Keys struct {
	keys   []Key
	closed bool
}

// Secret is a key as it is configured.
type Secret struct {
	Name string // empty: "key-N", for the Nth of its source
	Key  string
}

// NewKeys makes the set of the keys that clients use, the admin key ("": none), and which of them
// may raise priorities. Where no clients' keys are asked for, a key that raises priorities need
// not be among them.
func NewKeys(clients []Secret, admin string, priority []string) Keys {
	k := Keys{closed: len(clients) > 0}
	for i, s := range clients {
		if s.Name == "" {
			s.Name = fmt.Sprintf("key-%d", i+1)
		}
		k.add(s.Key, func(key *Key) { key.Name, key.Client = s.Name, true })
	}
	if admin != "" {
		k.add(admin, func(key *Key) { key.Name, key.Admin, key.Client = "admin", true, true })
	}
	for i, secret := range priority {
		k.add(secret, func(key *Key) {
			if key.Priority = true; key.Name == "" {
				key.Name = fmt.Sprintf("priority-%d", i+1)
			}
		})
	}
	return k
}

// add changes the entry of a key, which is made if there is none.
func (k *Keys) add(secret string, change func(*Key)) {
	digest := digestOf(secret)
	i := slices.IndexFunc(k.keys, func(key Key) bool { return key.Digest == digest })
	if i < 0 {
		i = len(k.keys)
		k.keys = append(k.keys, Key{Digest: digest})
	}
	change(&k.keys[i])
}

// Find returns what is known of a key. It compares digests, and with all of them, so that how long
// it takes tells nothing of the keys, not even how long they are.
func (k Keys) Find(secret string) (found Key, ok bool) {
	digest := digestOf(secret)
	for _, key := range k.keys {
		if subtle.ConstantTimeCompare([]byte(key.Digest), []byte(digest)) == 1 {
			found, ok = key, true
		}
	}
	return found, ok
}

// Closed reports whether the ordinary routes ask for a key. An admin key alone closes only the
// admin routes.
func (k Keys) Closed() bool { return k.closed }

// HasAdmin reports whether there is an admin key.
func (k Keys) HasAdmin() bool {
	return slices.ContainsFunc(k.keys, func(key Key) bool { return key.Admin })
}

func digestOf(secret string) string {
	d := sha256.Sum256([]byte(secret))
	return string(d[:])
}

// ReadKeyFile reads a file of keys, one a line; a name may follow a key after white space. Lines
// that begin with # are comments. A file without keys is an error: the server would be open to
// all.
func ReadKeyFile(path string) ([]Secret, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read API keys: %w", err)
	}
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("read API keys: %s is no text in UTF-8; save it as UTF-8", path)
	}
	var secrets []Secret
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		fields := strings.Fields(strings.TrimPrefix(line, "\ufeff")) // some editors begin files with this mark
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) > 2 {
			return nil, fmt.Errorf("read API keys: line %d of %s has %d words; it may have a key and a name", number, path, len(fields))
		}
		s := Secret{Key: fields[0]}
		if len(fields) == 2 {
			s.Name = fields[1]
		}
		if slices.ContainsFunc(secrets, func(other Secret) bool { return s.Name != "" && other.Name == s.Name || other.Key == s.Key }) {
			return nil, fmt.Errorf("read API keys: line %d of %s has a key or a name that another line has", number, path)
		}
		secrets = append(secrets, s)
	}
	if len(secrets) == 0 {
		return nil, fmt.Errorf("read API keys: %s has none", path)
	}
	return secrets, nil
}
