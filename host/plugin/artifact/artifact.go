// SPDX-License-Identifier: MIT

// Package artifact puts plugins and indexes of them into OCI registries and gets them from there.
//
// OCI registries also hold container images. A plugin is an artifact of one layer in the layout
// that other tools for WebAssembly use (CNCF, "Wasm OCI Artifact layout"). A script's layer has a
// type of its own, and the name of its file, which is the plugin's. The digest depends only on the
// plugin and its manifest.
package artifact

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// Why an artifact cannot be had or is no plugin; compare with errors.Is.
var (
	ErrReference = errors.New("not the name of an artifact in a registry")
	ErrNotFound  = errors.New("not in the registry")
	ErrDenied    = errors.New("the registry refuses")
	ErrNotPlugin = errors.New("not a plugin")
	ErrNotIndex  = errors.New("not an index of plugins")
)

// explained says what an error of the registry means and what to do.
func explained(r Reference, err error) error {
	var answer *errcode.ErrorResponse
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errdef.ErrNotFound):
		return fmt.Errorf("%w: %s", ErrNotFound, r)
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		return fmt.Errorf("%w: %s; log in with `docker login %s` or `podman login --authfile ~/.docker/config.json %s`, and see that the account may do this: %w",
			ErrDenied, r, r.Registry, r.Registry, err)
	}
	return fmt.Errorf("%s: %w", r, err)
}

// Client talks to registries.
type Client struct {
	PlainHTTP bool   // do without encryption, as is always done on this machine itself
	MaxBytes  int64  // of a module
	UserAgent string // what it calls itself

	HTTP *http.Client // what it sends requests with; nil: one that tries again what may go well
}

// defaultTag is the tag of a reference that has neither tag nor digest.
const defaultTag = "latest"

// Reference is where an artifact is: REGISTRY/REPOSITORY, and then :TAG or @sha256:DIGEST.
type Reference struct{ registry.Reference }

// ParseReference reads a Reference. Without a tag and a digest it has the tag latest. The error
// wraps ErrReference.
func ParseReference(text string) (Reference, error) {
	r, err := registry.ParseReference(strings.TrimPrefix(text, "oci://"))
	if err != nil {
		return Reference{}, fmt.Errorf("%w: %q (%w); it must be REGISTRY/REPOSITORY, and then :TAG or @sha256:DIGEST", ErrReference, text, err)
	}
	if r.Reference == "" {
		r.Reference = defaultTag
	}
	return Reference{r}, nil
}

// At returns the reference to the artifact with a digest, whatever its tag names later.
func (r Reference) At(digest string) string { return r.Registry + "/" + r.Repository + "@" + digest }

// repository returns the repository that a reference names.
func (c *Client) repository(r Reference) (*remote.Repository, error) {
	repository, err := remote.NewRepository(r.Registry + "/" + r.Repository)
	if err != nil {
		return nil, err
	}
	repository.PlainHTTP = c.PlainHTTP || IsThisMachine(r.Host())
	client := &auth.Client{Client: cmp.Or(c.HTTP, retry.DefaultClient), Header: http.Header{"User-Agent": {c.UserAgent}}, Cache: auth.NewCache()}
	if store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{}); err == nil { // else there are no credentials
		client.Credential = credentials.Credential(store)
	}
	repository.Client = client
	return repository, nil
}

// IsThisMachine reports whether a host, with or without a port, is this machine, so that nobody can
// listen to the connection.
func IsThisMachine(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// manifestBytes bounds the list of an artifact's layers.
const manifestBytes = 1 << 20

// Pulled is a plugin from a registry.
type Pulled struct {
	Content []byte // a module or a script
	Script  string // the name of the script; empty: it is a module
	Digest  string // of the artifact
}

// Pull gets the plugin of an artifact, and checks its digests against those of the registry or the
// reference. The error wraps ErrNotFound, ErrDenied or ErrNotPlugin, or is of the connection.
func (c *Client) Pull(ctx context.Context, r Reference) (p Pulled, err error) {
	repository, artifact, text, err := c.manifest(ctx, r)
	if err != nil {
		return p, err
	}
	layer, err := pluginOf(text)
	if err != nil {
		return p, fmt.Errorf("%w: %s %w", ErrNotPlugin, r, err)
	}
	if layer.Size > c.MaxBytes {
		return p, fmt.Errorf("%w: the plugin of %s has %d bytes, and %d are allowed", ErrNotPlugin, r, layer.Size, c.MaxBytes)
	}
	if layer.MediaType == scriptType {
		title := layer.Annotations[ocispec.AnnotationTitle]
		name, ok := strings.CutSuffix(title, scriptSuffix)
		if !ok || name == "" {
			return p, fmt.Errorf("%w: the script of %s has the title %q; a script is called as its file NAME.js is", ErrNotPlugin, r, title)
		}
		p.Script = name
	}
	p.Digest = artifact.Digest.String()
	p.Content, err = content.FetchAll(ctx, repository, layer)
	return p, explained(r, err)
}

// manifest gets the list of an artifact's layers, with what describes it and where they are.
func (c *Client) manifest(ctx context.Context, r Reference) (from *remote.Repository, artifact ocispec.Descriptor, text []byte, err error) {
	if from, err = c.repository(r); err == nil {
		artifact, text, err = oras.FetchBytes(ctx, from, r.Reference.Reference, oras.FetchBytesOptions{MaxBytes: manifestBytes})
	}
	return from, artifact, text, explained(r, err)
}

// pluginOf finds the layer that is a module or a script.
func pluginOf(manifest []byte) (layer ocispec.Descriptor, err error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return layer, fmt.Errorf("cannot be read: %w", err)
	}
	if len(m.Layers) == 0 {
		return layer, fmt.Errorf("has no layers; it may be an index of several artifacts: name one of them by its digest")
	}
	for _, l := range m.Layers {
		switch {
		case l.MediaType != moduleType && l.MediaType != scriptType:
		case layer.MediaType != "":
			return layer, fmt.Errorf("has several layers of type %s or %s, and a plugin has one", moduleType, scriptType)
		default:
			layer = l
		}
	}
	if layer.MediaType == "" {
		return layer, fmt.Errorf("has no layer of type %s or %s; its first is of type %s", moduleType, scriptType, m.Layers[0].MediaType)
	}
	return layer, nil
}
