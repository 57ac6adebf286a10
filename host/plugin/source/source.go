// SPDX-License-Identifier: MIT

// Package source gets indexes of plugins, and the plugins' files, from where they are: a web
// server, an OCI registry or a folder.
//
// # Notes
//
//   - What is fetched is bounded in bytes and time, and is used only if its digest or signature is
//     the one that was asked for.
//   - An index of the public internet leads to no address of this machine or its networks: once a
//     public address was reached, no other is.
//   - A folder's file is opened within that folder, so that no link leads out of it.
package source

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/plugin/artifact"
	"github.com/penstock/penstock/host/plugin/index"
)

// ErrSource marks what names no index.
var ErrSource = errors.New("not where an index can be")

// Source is where an index is, and what it must be.
type Source struct {
	Name   string            // where it is, as the user wrote it
	Key    ed25519.PublicKey // that signs it; nil: the one that the index names, if it does
	SHA256 string            // of the index, in hex; "": any

	url    *url.URL           // https:, or http: on this machine; nil: it is elsewhere
	oci    artifact.Reference // in a registry, where Name begins with oci:
	folder string             // where it is a file
	file   string             // its base name
}

// Parse reads where an index is: a URL of https:, oci://REFERENCE, a file: URL or a path, of the
// index or of its folder. #ed25519:BASE64 or #sha256:HEX may follow. The error wraps ErrSource.
func Parse(text string) (s Source, err error) {
	name, pin, pinned := strings.Cut(text, "#")
	s.Name = name
	if pinned {
		if err := s.pin(pin); err != nil {
			return s, fmt.Errorf("%w: %q: %w", ErrSource, excerpt.Of(text, 200), err)
		}
	}
	scheme, rest, _ := strings.Cut(name, ":")
	switch scheme {
	case "oci":
		s.oci, err = artifact.ParseReference(name)
	case "https", "http":
		s.url, err = url.Parse(name)
		if err == nil {
			err = checkURL(s.url)
		}
	case "file":
		err = s.inFolder(strings.TrimPrefix(rest, "//"))
	default:
		err = s.inFolder(name)
	}
	if err != nil {
		return s, fmt.Errorf("%w: %q: %w", ErrSource, excerpt.Of(name, 200), err)
	}
	return s, nil
}

// pin reads what follows the # of a source.
func (s *Source) pin(text string) (err error) {
	if sum, ok := strings.CutPrefix(text, "sha256:"); ok {
		if !index.IsSum(sum) {
			return errors.New("#sha256: must be followed by 64 hexadecimal digits in small letters")
		}
		s.SHA256 = sum
		return nil
	}
	s.Key, err = index.ParseKey(text)
	return err
}

// checkURL refuses URLs by which a stranger could change or read what is fetched.
func checkURL(u *url.URL) error {
	switch {
	case u.Hostname() == "":
		return errors.New("it names no host")
	case u.User != nil:
		return errors.New("it has a user or a password in it; put the index where none is needed, or into an OCI registry")
	case u.Scheme == "https", u.Scheme == "http" && artifact.IsThisMachine(u.Host):
		return nil
	}
	return errors.New("it must begin with https:; http: is for this machine alone")
}

func (s *Source) inFolder(path string) error {
	if path == "" {
		return errors.New("it is empty")
	}
	stat, err := os.Stat(path)
	if err != nil {
		return err
	}
	s.folder, s.file = filepath.Dir(path), filepath.Base(path)
	if stat.IsDir() {
		s.folder, s.file = path, index.FileName
	}
	return nil
}

// IsFolder reports whether the index is a file, which has no copy.
func (s *Source) IsFolder() bool { return s.folder != "" }
