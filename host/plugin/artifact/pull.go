// SPDX-License-Identifier: MIT

package artifact

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
)

// manifestBytes bounds the list of an artifact's layers.
const manifestBytes = 1 << 20

// Pulled is a plugin from a registry.
type Pulled struct {
	Content []byte // a module or a script
	Script  string // the name of the script; empty: it is a module
	Digest  string // of the artifact
}

// Pull gets the plugin of an artifact. What it gives has the digests that the registry, or the
// reference, says. The error wraps ErrNotFound, ErrDenied or ErrNotPlugin, or is of the connection.
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
