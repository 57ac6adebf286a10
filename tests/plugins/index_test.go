// SPDX-License-Identifier: MIT

package plugins

import (
	"crypto/ed25519"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/artifact"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/index"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/source"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// An index and its plugins in a registry are found by reference and by digest, and only with the
// signature that goes with it.
func TestIndex_OCI(t *testing.T) {
	host := serve(t, nil)
	push(t, host+"/team/good:1.2", module)
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "good.wasm"), module, 0o600))
	public, private := must.Both(ed25519.GenerateKey(nil))(t)
	text := must.Get(index.Make(t.Context(), hosttest.Open(t, load.New), dir, index.Options{URL: "oci://" + host + "/team/{name}:{version}"}))(t)
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
		from := must.Get(source.Parse("oci://" + host + name))(t)
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

// A request uses a plugin that comes with the server like any other, and whoever has the admin key
// can replace it, and not remove it.
func TestPlugins_Bundled(t *testing.T) {
	bundled, l := t.TempDir(), hosttest.Open(t, load.New)
	must.Do(t, os.WriteFile(filepath.Join(bundled, "always.wasm"), hosts.Always("always", 300), 0o600))
	text, err := index.Make(t.Context(), l, bundled, index.Options{})
	if err == nil {
		err = os.WriteFile(filepath.Join(bundled, index.FileName), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	h := hosts.OpenWithPlugins(t, map[string]any{"plugins.bundled": bundled, "server.admin_key": "secret"}, nil)
	uses := func(token int) {
		t.Helper()
		status, text, _ := hosts.Complete(t, h, `,"plugins":["always"]`)
		if want := strings.Repeat(hosts.Piece(t, token), 5); status != 200 || text != want {
			t.Errorf("%d %q, want %q", status, text, want)
		}
	}
	uses(300)
	for _, r := range []struct {
		method, path string
		body         []byte
		status       int
		says         string
	}{
		{http.MethodGet, "/v1/plugins/always", nil, 200, `"bundled":true`},
		{http.MethodDelete, "/v1/plugins/always", nil, 409, "plugin_bundled"},
		{http.MethodPost, "/v1/plugins", hosts.Always("always", 301), 200, `"bundled":false`},
	} {
		if status, body := hosts.Admin(t, h, r.method, r.path, r.body); status != r.status || !strings.Contains(body, r.says) {
			t.Errorf("%s: %d %s", r.method, status, body)
		}
	}
	uses(301)
	if status, body := hosts.Admin(t, h, http.MethodDelete, "/v1/plugins/always", nil); status != 204 {
		t.Errorf("%d %s", status, body)
	}
	uses(300)
}
