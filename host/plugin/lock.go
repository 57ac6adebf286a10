// SPDX-License-Identifier: MIT

package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
)

// Lock says which modules may be loaded: for each plugin's name, the SHA-256 of its modules in
// hexadecimal digits. A nil Lock allows all.
type Lock map[string][]string

var lockEntry = regexp.MustCompile(`^([a-z0-9][a-z0-9._-]{0,63})@sha256:([0-9a-f]{64})$`)

// NewLock makes a Lock of entries like NAME@sha256:HEX; several may have the same name. No entry
// at all makes a nil Lock.
func NewLock(entries []string) (Lock, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	l := Lock{}
	for _, e := range entries {
		parts := lockEntry.FindStringSubmatch(e)
		if parts == nil {
			return nil, fmt.Errorf("%q is not NAME@sha256: with 64 hexadecimal digits in small letters; `penstock plugin list --lock` prints what the plugin folder has", e)
		}
		l[parts[1]] = append(l[parts[1]], parts[2])
	}
	return l, nil
}

// LockEntry is the entry that allows a module.
func LockEntry(name, sum string) string { return name + "@sha256:" + sum }

// Allows tells whether a module may be loaded at all. What its name is it says only when it runs.
// The error wraps ErrLocked.
func (l Lock) Allows(wasm []byte) error {
	if l == nil {
		return nil
	}
	hash := sha256.Sum256(wasm)
	sum := hex.EncodeToString(hash[:])
	for _, sums := range l {
		for _, s := range sums {
			if s == sum {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: its SHA-256 is %s, which is not among those that plugins.lock allows; add NAME@sha256:%s if you trust it", ErrLocked, sum, sum)
}

// AllowsName tells whether a module that Allows has let in may have its name. The error wraps
// ErrLocked.
func (l Lock) AllowsName(name, sum string) error {
	if l == nil {
		return nil
	}
	for _, s := range l[name] {
		if s == sum {
			return nil
		}
	}
	return fmt.Errorf("%w: its name is %q, and plugins.lock has its SHA-256 under another; the entry would be %s", ErrLocked, name, LockEntry(name, sum))
}
