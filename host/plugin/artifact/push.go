// SPDX-License-Identifier: MIT

package artifact

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/memory"
)

// The media types of the layout, and those of scripts, which have an empty configuration.
const (
	configType   = "application/vnd.wasm.config.v0+json"
	moduleType   = "application/wasm"
	scriptType   = "text/javascript"
	artifactType = "application/vnd.penstock.script.v1"
)

// scriptSuffix is what the title of a script's layer ends with.
const scriptSuffix = ".js"

// created is a fixed time for registries that want one, so that the digest does not depend on when
// a module is pushed.
const created = "1970-01-01T00:00:00Z"

// Description is what people see of an artifact in a registry.
type Description struct {
	Name    string // of the plugin
	Version string // may be empty
	Summary string // may be empty
	Script  bool   // it is a script, and not a module
}

// Push puts a module or a script into a registry, under the reference's tag, and gives the digest
// of the artifact. A reference with a digest is refused: the digest follows from the plugin.
func (c *Client) Push(ctx context.Context, r Reference, content []byte, d Description) (digest string, err error) {
	packed := memory.New()
	manifest, err := pack(ctx, packed, content, d)
	if err != nil {
		return "", err
	}
	return c.put(ctx, r, packed, manifest)
}

// put puts an artifact's layers and its manifest into a registry, under the reference's tag.
func (c *Client) put(ctx context.Context, r Reference, packed *memory.Store, manifest ocispec.Manifest) (digest string, err error) {
	if r.ValidateReferenceAsTag() != nil {
		return "", fmt.Errorf("%w: %s has a digest; push it under a tag, and the digest is told", ErrReference, r)
	}
	repository, err := c.repository(r)
	if err != nil {
		return "", explained(r, err)
	}
	manifest.Versioned, manifest.MediaType = specs.Versioned{SchemaVersion: 2}, ocispec.MediaTypeImageManifest
	text, err := json.Marshal(manifest)
	if err != nil {
		return "", err
	}
	artifact, err := oras.PushBytes(ctx, packed, manifest.MediaType, text)
	if err != nil {
		return "", err
	}
	if err := packed.Tag(ctx, artifact, r.Reference.Reference); err != nil {
		return "", err
	}
	_, err = oras.Copy(ctx, packed, r.Reference.Reference, repository, r.Reference.Reference, oras.DefaultCopyOptions)
	return artifact.Digest.String(), explained(r, err)
}

// pack lays a module or a script out as an artifact, and gives its manifest.
func pack(ctx context.Context, to *memory.Store, content []byte, d Description) (manifest ocispec.Manifest, err error) {
	of, suffix, kind := moduleType, ".wasm", ""
	if d.Script {
		of, suffix, kind = scriptType, scriptSuffix, artifactType
	}
	layer, err := oras.PushBytes(ctx, to, of, content)
	if err != nil {
		return manifest, err
	}
	layer.Annotations = map[string]string{ocispec.AnnotationTitle: d.Name + suffix}
	of, about := ocispec.DescriptorEmptyJSON.MediaType, ocispec.DescriptorEmptyJSON.Data
	if !d.Script {
		of = configType
		if about, err = json.Marshal(map[string]any{"architecture": "wasm", "os": "wasip1", "created": created, "layerDigests": []string{layer.Digest.String()}}); err != nil {
			return manifest, err
		}
	}
	config, err := oras.PushBytes(ctx, to, of, about)
	if err != nil {
		return manifest, err
	}
	annotations := map[string]string{ocispec.AnnotationCreated: created, ocispec.AnnotationTitle: d.Name}
	if d.Version != "" {
		annotations[ocispec.AnnotationVersion] = d.Version
	}
	if d.Summary != "" {
		annotations[ocispec.AnnotationDescription] = d.Summary
	}
	return ocispec.Manifest{ArtifactType: kind, Config: config, Layers: []ocispec.Descriptor{layer}, Annotations: annotations}, nil
}

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
