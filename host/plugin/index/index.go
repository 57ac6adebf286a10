// SPDX-License-Identifier: MIT

// Package index reads and writes indexes: static files that list plugins, with what each asks for
// and where its file is.
//
// # Why does an entry have the plugin's manifest?
//
// Whoever searches sees what a plugin needs before its file is fetched, and a server can list its
// bundled plugins without compiling them.
//
// # What does a signature say?
//
// It says that the holder of the key wrote these bytes, but not that they are the newest. So a
// signed index has the time when it was made, and package source refuses one that is older than the
// last it has seen. Whoever serves the index can still hold back a newer one.
package index

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
)

// FileName is what an index is called in the folder of its plugins.
const FileName = "index.json"

// formatVersion is that of the format.
const formatVersion = 1

// Bounds of an index.
const (
	MaxBytes   = 8 << 20
	maxPlugins = 2000
	maxText    = 2048 // bytes of a URL, a licence or a source
)

// ErrIndex marks a file that is no index, or one that cannot be trusted.
var ErrIndex = errors.New("not an index of plugins that can be used")

// Index lists plugins.
type Index struct {
	Version int     `json:"version"`           // of the format: 1
	Key     string  `json:"key,omitempty"`     // what it is signed with: ed25519:BASE64
	Created int64   `json:"created,omitempty"` // Unix time at which it was signed; 0: it does not say
	Plugins []Entry `json:"plugins"`

	// Unread says of each entry that this version of Penstock cannot read why it is left out.
	Unread []string `json:"-"`
}

// Entry describes a plugin. Its fields are those of GET /v1/plugins, where it has them.
type Entry struct {
	Name     string        `json:"name"` // the manifest's
	SHA256   string        `json:"sha256"`
	Size     int64         `json:"size"` // of the file, in bytes
	URL      string        `json:"url"`  // https:, oci: or a path within the index's folder
	License  string        `json:"license,omitempty"`
	Source   string        `json:"source,omitempty"`   // where its source is
	Requires []string      `json:"requires,omitempty"` // the functions that it has of the host
	Exports  []string      `json:"exports"`            // those of the ABI
	Manifest load.Manifest `json:"manifest"`
}

// IsSum reports whether a text is a SHA-256 as an index has it.
var IsSum = regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString

// Parse reads an index. maxSize bounds the size of a plugin's file. The error wraps ErrIndex.
func Parse(text []byte, maxSize int64) (*Index, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrIndex, MaxBytes)
	}
	var read struct {
		Version int               `json:"version"`
		Key     string            `json:"key"`
		Created int64             `json:"created"`
		Plugins []json.RawMessage `json:"plugins"` // an Entry takes hundreds of bytes, and three may stand for one
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&read); err != nil {
		return nil, fmt.Errorf("%w: it must be one JSON object: %w", ErrIndex, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows its JSON object", ErrIndex)
	}
	switch {
	case read.Version < 1:
		return nil, fmt.Errorf(`%w: "version" is %d, and must be %d`, ErrIndex, read.Version, formatVersion)
	case read.Version > formatVersion:
		return nil, fmt.Errorf(`%w: "version" is %d, and this program reads %d: update Penstock`, ErrIndex, read.Version, formatVersion)
	case len(read.Plugins) > maxPlugins:
		return nil, fmt.Errorf("%w: it lists %d plugins; %d are allowed", ErrIndex, len(read.Plugins), maxPlugins)
	}
	i := &Index{Version: read.Version, Key: read.Key, Created: read.Created}
	names := map[string]bool{}
	for at, text := range read.Plugins {
		var p struct {
			Entry
			Manifest json.RawMessage `json:"manifest"`
		}
		if err := json.Unmarshal(text, &p); err != nil {
			return nil, fmt.Errorf("%w: plugins[%d]: %w", ErrIndex, at, err)
		}
		if err := p.check(maxSize); err != nil {
			return nil, fmt.Errorf("%w: plugins[%d].%w", ErrIndex, at, err)
		}
		if names[p.Name] {
			return nil, fmt.Errorf("%w: plugins[%d].name is %q, as of another before", ErrIndex, at, p.Name)
		}
		names[p.Name] = true
		e, err := p.Entry, error(nil)
		if e.Manifest, err = load.ParseManifest(p.Manifest, e.Exports); err != nil {
			i.Unread = append(i.Unread, fmt.Sprintf("%s: %v", e.Name, err))
			continue
		}
		if e.Manifest.Name != e.Name {
			return nil, fmt.Errorf("%w: plugins[%d].name is %q, and its manifest's %q", ErrIndex, at, e.Name, e.Manifest.Name)
		}
		i.Plugins = append(i.Plugins, e)
	}
	return i, nil
}

// Read reads the file of an index. maxSize bounds the size of a plugin's file.
func Read(path string, maxSize int64) (*Index, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe is waited for
		return nil, fmt.Errorf("%w: it is no file", ErrIndex)
	}
	from, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer from.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(from, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	return Parse(text, maxSize)
}

// check checks the fields of an entry except the manifest. The error begins with a field's name.
func (e *Entry) check(maxSize int64) error {
	switch {
	case !load.ValidName(e.Name):
		return fmt.Errorf("name is %q; it must match [a-z0-9][a-z0-9._-]{0,63}", excerpt.Of(e.Name, 80))
	case !IsSum(e.SHA256):
		return fmt.Errorf("sha256 is %q, and must be 64 hexadecimal digits in small letters", excerpt.Of(e.SHA256, 80))
	case e.Size < 1 || e.Size > maxSize:
		return fmt.Errorf("size is %d; it must be from 1 to %d bytes", e.Size, maxSize)
	case len(e.License) > maxText || len(e.Source) > maxText:
		return fmt.Errorf("license or source is longer than %d bytes", maxText)
	}
	return checkURL(e.URL)
}

// checkURL allows the addresses that a plugin's file may have.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > maxText || u.User != nil || u.Fragment != "" || strings.Contains(text, `\`):
		return fmt.Errorf("url is %q, which is no URL that is used here", excerpt.Of(text, 80))
	case u.Scheme == "https" && u.Host != "", u.Scheme == "oci" && u.Host != "":
		return nil
	case u.Scheme != "" || u.Host != "" || u.RawQuery != "":
		return fmt.Errorf("url is %q; it must begin with https: or oci:, or be a path within the index's folder", excerpt.Of(text, 80))
	case u.Path == "" || path.IsAbs(u.Path) || path.Clean(u.Path) != u.Path || u.Path == ".." || strings.HasPrefix(u.Path, "../"):
		return fmt.Errorf("url is %q, which leads out of the index's folder", excerpt.Of(text, 80))
	}
	return nil
}

// Path returns the file's path within the index's folder; "": it is elsewhere, at the URL.
func (e *Entry) Path() string {
	if u, err := url.Parse(e.URL); err == nil && u.Scheme == "" {
		return u.Path
	}
	return ""
}

// Matches reports whether the plugin has all words in its name or summary, whatever their case.
func (e *Entry) Matches(words []string) bool {
	text := strings.ToLower(e.Name + " " + e.Manifest.Summary)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, strings.ToLower(w)) })
}

// Options have the fields of entries that plugins' files do not tell. In URL and Source, {name},
// {version}, {sha256} and {file} stand for the plugin's own.
type Options struct {
	Key     string // the public key that the index is going to be signed with; "": it is not
	Created int64  // Unix time; 0: it does not say
	URL     string // of each file; "": the file lies beside the index
	License string
	Source  string
}

// Make writes the index of a folder's plugins, by name. It loads each of them; one that does not
// load is an error.
func Make(ctx context.Context, l *load.Loader, dir string, o Options) ([]byte, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	i := Index{Version: formatVersion, Key: o.Key, Created: o.Created, Plugins: []Entry{}}
	for _, f := range files {
		base := f.Name()
		if ext := filepath.Ext(base); base[0] == '.' || ext != ".wasm" && ext != load.ScriptSuffix {
			continue
		}
		e, err := describe(ctx, l, filepath.Join(dir, base), o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", base, err)
		}
		i.Plugins = append(i.Plugins, e)
	}
	slices.SortFunc(i.Plugins, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	read, err := Parse(text, int64(l.Limits().Module.ModuleBytes))
	if err == nil && len(read.Unread) > 0 {
		err = fmt.Errorf("%w: %s", ErrIndex, read.Unread[0])
	}
	return text, err
}

func describe(ctx context.Context, l *load.Loader, path string, o Options) (e Entry, err error) {
	file, err := load.ReadFile(path)
	if err != nil {
		return e, err
	}
	p, err := l.LoadFile(ctx, file)
	if err != nil {
		return e, err
	}
	defer p.Release()
	e = Entry{Name: p.Name, SHA256: p.SHA256, Size: int64(len(file.Content)), License: o.License}
	e.Manifest, e.Exports = p.Described()
	if filepath.Ext(path) != load.ScriptSuffix { // a script has them all, from what runs it
		for _, function := range abi.Imports {
			if p.Module.Imports(function.Name) {
				e.Requires = append(e.Requires, function.Name)
			}
		}
	}
	fill := strings.NewReplacer("{name}", p.Name, "{version}", e.Manifest.Version, "{sha256}", p.SHA256, "{file}", url.PathEscape(file.Base)).Replace
	e.Source, e.URL = fill(o.Source), fill(o.URL)
	if o.URL == "" {
		e.URL = url.PathEscape(file.Base)
	}
	return e, nil
}

// SignatureSuffix follows the name of an index in that of its signature: 64 bytes in base64.
const SignatureSuffix = ".sig"

// MaxSignature bounds the file of a signature, in bytes.
const MaxSignature = 256

const keyPrefix = "ed25519:"

// ErrSignature refuses an index that its key has not signed.
var ErrSignature = errors.New("the signature is not that of the index's key")

// ParseKey reads a public key: ed25519:BASE64.
func ParseKey(text string) (ed25519.PublicKey, error) {
	coded, ok := strings.CutPrefix(text, keyPrefix)
	key, err := base64.StdEncoding.DecodeString(coded)
	if !ok || err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%q is no key: it must be %s and 32 bytes in base64, as `penstock plugin index --sign` prints it", excerpt.Of(text, 80), keyPrefix)
	}
	return key, nil
}

// FormatKey returns the text that ParseKey reads.
func FormatKey(key ed25519.PublicKey) string {
	return keyPrefix + base64.StdEncoding.EncodeToString(key)
}

// ReadPrivateKey reads a private key as `openssl genpkey -algorithm ed25519` writes it.
func ReadPrivateKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no private key in PEM; `openssl genpkey -algorithm ed25519` makes one")
	}
	read, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("no private key in PKCS #8: %w", err)
	}
	key, ok := read.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("a %T, and an index is signed with a key of Ed25519", read)
	}
	return key, nil
}

// Sign returns the file of an index's signature.
func Sign(text []byte, key ed25519.PrivateKey) []byte {
	return []byte(base64.StdEncoding.EncodeToString(ed25519.Sign(key, text)) + "\n")
}

// Verify checks the file of an index's signature. The error wraps ErrSignature.
func Verify(text, signature []byte, key ed25519.PublicKey) error {
	read, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(signature)))
	if err != nil || len(read) != ed25519.SignatureSize {
		return fmt.Errorf("%w: it must be 64 bytes in base64", ErrSignature)
	}
	if !ed25519.Verify(key, text, read) {
		return fmt.Errorf("%w (%s): the index or its signature was changed, or its publisher has another key now; ask the publisher", ErrSignature, FormatKey(key))
	}
	return nil
}
