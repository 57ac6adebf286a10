// SPDX-License-Identifier: MIT

package plugins

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/artifact"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/index"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/source"
)

// An index and its plugins in a registry are found by reference and by digest, and only with the
// signature that goes with it.
func TestIndex_OCI(t *testing.T) {
	host := serve(t, nil)
	push(t, host+"/team/good:1.2", module)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "good.wasm"), module, 0o600); err != nil {
		t.Fatal(err)
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := index.Make(t.Context(), hosttest.Open(t, load.New), dir, index.Options{URL: "oci://" + host + "/team/{name}:{version}"})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := client.PushIndex(t.Context(), reference(t, host+"/team/index:signed"), text, index.Sign(text, private))
	if err == nil {
		_, err = client.PushIndex(t.Context(), reference(t, host+"/team/index:plain"), text, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	pin := "#" + index.FormatKey(public)
	for name, want := range map[string]error{
		"/team/index:signed": nil, "/team/index:signed" + pin: nil, "/team/index@" + digest + pin: nil, "/team/index:plain": nil,
		"/team/index:plain" + pin: index.ErrSignature, "/team/good:1.2": artifact.ErrNotIndex, "/team/none": artifact.ErrNotFound,
		"/team/index@sha256:" + strings.Repeat("0", 64): artifact.ErrNotFound,
	} {
		from, err := source.Parse("oci://" + host + name)
		if err != nil {
			t.Fatal(err)
		}
		c := source.Client{Source: from, MaxBytes: 1 << 20, Agent: "test"}.Open()
		i, err := c.Index(t.Context())
		if !errors.Is(err, want) {
			t.Errorf("%s: %v; want %v", name, err, want)
		}
		if err != nil {
			continue
		}
		if got, err := c.File(t.Context(), i.Plugins[0]); err != nil || string(got) != string(module) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		i.Plugins[0].SHA256 = strings.Repeat("0", 64)
		if _, err := c.File(t.Context(), i.Plugins[0]); !errors.Is(err, source.ErrDigest) {
			t.Errorf("%s: a file with another digest: %v", name, err)
		}
	}
}
