// SPDX-License-Identifier: MIT

package artifact

import (
	"context"
	"encoding/json"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
)

// manifestBytes bounds the list of an artifact's layers.
const manifestBytes = 1 << 20

// Pull gets the module of an artifact, and the artifact's digest. What it gives has the digests
// that the registry, or the reference, says. The error wraps ErrNotFound, ErrDenied or
// ErrNotPlugin, or is of the connection.
func (c *Client) Pull(ctx context.Context, r Reference) (wasm []byte, digest string, err error) {
	repository, err := c.repository(r)
	if err != nil {
		return nil, "", explained(r, err)
	}
	artifact, text, err := oras.FetchBytes(ctx, repository, r.Reference.Reference, oras.FetchBytesOptions{MaxBytes: manifestBytes})
	if err != nil {
		return nil, "", explained(r, err)
	}
	layer, err := moduleOf(text)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %s %w", ErrNotPlugin, r, err)
	}
	if layer.Size > c.MaxBytes {
		return nil, "", fmt.Errorf("%w: the module of %s has %d bytes, and %d are allowed", ErrNotPlugin, r, layer.Size, c.MaxBytes)
	}
	wasm, err = content.FetchAll(ctx, repository, layer)
	return wasm, artifact.Digest.String(), explained(r, err)
}

// moduleOf finds the layer that is a module.
func moduleOf(manifest []byte) (layer ocispec.Descriptor, err error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return layer, fmt.Errorf("cannot be read: %w", err)
	}
	if len(m.Layers) == 0 {
		return layer, fmt.Errorf("has no layers; it may be an index of several artifacts: name one of them by its digest")
	}
	for _, l := range m.Layers {
		switch {
		case l.MediaType != layerType:
		case layer.MediaType != "":
			return layer, fmt.Errorf("has several layers of type %s, and a plugin has one", layerType)
		default:
			layer = l
		}
	}
	if layer.MediaType == "" {
		return layer, fmt.Errorf("has no layer of type %s; its first is of type %s", layerType, m.Layers[0].MediaType)
	}
	return layer, nil
}
