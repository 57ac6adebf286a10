// SPDX-License-Identifier: MIT

package artifact

import (
	"context"
	"encoding/json"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/memory"
)

// The media types of an index of plugins.
const (
	indexType     = "application/vnd.penstock.plugins.index.v1+json"
	signatureType = "application/vnd.penstock.plugins.index.signature.v1"
)

// Most bytes of an index and of its signature.
const (
	indexBytes     = 8 << 20
	signatureBytes = 256
)

// PushIndex puts an index of plugins into a registry, under the reference's tag, and gives the
// digest of the artifact. signature may be nil.
func (c *Client) PushIndex(ctx context.Context, r Reference, index, signature []byte) (digest string, err error) {
	packed := memory.New()
	layer, err := oras.PushBytes(ctx, packed, indexType, index)
	if err != nil {
		return "", err
	}
	layers := []ocispec.Descriptor{layer}
	if signature != nil {
		signed, err := oras.PushBytes(ctx, packed, signatureType, signature)
		if err != nil {
			return "", err
		}
		layers = append(layers, signed)
	}
	config, err := oras.PushBytes(ctx, packed, ocispec.MediaTypeEmptyJSON, []byte("{}"))
	if err != nil {
		return "", err
	}
	return c.put(ctx, r, packed, ocispec.Manifest{
		ArtifactType: indexType, Config: config, Layers: layers, Annotations: map[string]string{ocispec.AnnotationCreated: created},
	})
}

// PullIndex gets an index of plugins and its signature; nil: it has none. The error is as Pull's.
func (c *Client) PullIndex(ctx context.Context, r Reference) (index, signature []byte, err error) {
	repository, _, text, err := c.manifest(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, nil, fmt.Errorf("%w: %s cannot be read: %w", ErrNotIndex, r, err)
	}
	for _, layer := range m.Layers {
		into, most := &index, int64(indexBytes)
		switch {
		case layer.MediaType == signatureType:
			into, most = &signature, signatureBytes
		case layer.MediaType != indexType:
			continue
		}
		if *into != nil || layer.Size > most {
			return nil, nil, fmt.Errorf("%w: %s has a second layer of type %s, or one of more than %d bytes", ErrNotIndex, r, layer.MediaType, most)
		}
		if *into, err = content.FetchAll(ctx, repository, layer); err != nil {
			return nil, nil, explained(r, err)
		}
	}
	if index == nil {
		return nil, nil, fmt.Errorf("%w: %s has no layer of type %s", ErrNotIndex, r, indexType)
	}
	return index, signature, nil
}
