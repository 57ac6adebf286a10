// SPDX-License-Identifier: MIT

package plugins

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/penstock/penstock/host/plugin/artifact"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

var client = artifact.Client{MaxBytes: 1 << 20, UserAgent: "test"}

// serve runs a registry, whose answers may be changed, and gives its host and port.
func serve(t *testing.T, change func(http.Handler) http.Handler) string {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // without credentials
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if change != nil {
		handler = change(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func reference(t *testing.T, text string) artifact.Reference {
	t.Helper()
	return must.Get(artifact.ParseReference(text))(t)
}

var module = asm.New(`{"name":"good","version":"1.2"}`).Wasm()

func push(t *testing.T, to string, wasm []byte) (digest string) {
	t.Helper()
	return must.Get(client.Push(t.Context(), reference(t, to), wasm, artifact.Description{Name: "good", Version: "1.2", Summary: "does good"}))(t)
}

func TestClient_Pull_WhatWasPushed(t *testing.T) {
	host := serve(t, nil)
	digest := push(t, host+"/team/good:1.2", module)
	if again := push(t, host+"/team/good", module); again != digest {
		t.Errorf("the same module has the digests %s and %s", digest, again)
	}
	other := asm.New(`{"name":"good","version":"2.0"}`).Wasm()
	push(t, host+"/team/good:latest", other)
	for from, want := range map[string][]byte{
		"/team/good:1.2": module, "/team/good@" + digest: module, "/team/good:1.2@" + digest: module, "/team/good": other, "/team/good:latest": other,
	} {
		p, err := client.Pull(t.Context(), reference(t, host+from))
		if err != nil || !bytes.Equal(p.Content, want) || p.Script != "" || (p.Digest == digest) != bytes.Equal(want, module) {
			t.Errorf("%s: %d bytes, %s, %v", from, len(p.Content), p.Digest, err)
		}
	}
	p, err := client.Pull(t.Context(), reference(t, "oci://"+reference(t, host+"/team/good").At(digest)))
	if err != nil || !bytes.Equal(p.Content, module) {
		t.Errorf("by the whole name: %v", err)
	}
}

func TestClient_Pull_Script(t *testing.T) {
	host, source := serve(t, nil), []byte("export function sample() {}")
	digest := pushScript(t, host+"/team/ban", "ban", source)
	p, err := client.Pull(t.Context(), reference(t, host+"/team/ban@"+digest))
	if err != nil || p.Script != "ban" || p.Digest != digest || !bytes.Equal(p.Content, source) {
		t.Errorf("%+v, %v; want what was pushed as %s", p, err, digest)
	}
	if other := pushScript(t, host+"/team/other", "other", source); other == digest {
		t.Error("the same source under another name, which is another plugin, has the same digest")
	}
}

func pushScript(t *testing.T, to, name string, source []byte) (digest string) {
	t.Helper()
	return must.Get(client.Push(t.Context(), reference(t, to), source, artifact.Description{Name: name, Script: true}))(t)
}

func TestClient_Pull_Refusals(t *testing.T) {
	spoil := func(next http.Handler) http.Handler { // one byte of each blob
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") {
				next.ServeHTTP(w, r)
				return
			}
			kept := httptest.NewRecorder()
			next.ServeHTTP(kept, r)
			body := kept.Body.Bytes()
			body[len(body)-1]++
			_, _ = w.Write(body)
		})
	}
	deny := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	}
	for name, tc := range map[string]struct {
		change func(http.Handler) http.Handler
		from   string
		want   error
		says   string
	}{
		"no such tag":        {nil, "/team/good:9", artifact.ErrNotFound, "/team/good:9"},
		"no such repository": {nil, "/team/none", artifact.ErrNotFound, "/team/none:latest"},
		"no such digest":     {nil, "/team/good@sha256:" + strings.Repeat("0", 64), artifact.ErrNotFound, "0000"},
		"too large":          {nil, "/team/large", artifact.ErrNotPlugin, "1048576 are allowed"},
		"script, no name":    {nil, "/team/unnamed", artifact.ErrNotPlugin, "the title \".js\""},
		"something else":     {nil, "/team/other", artifact.ErrNotPlugin, "its first is of type text/plain"},
		"not what it says":   {spoil, "/team/good:1.2", nil, "mismatch"},
		"forbidden":          {deny, "/team/good:1.2", artifact.ErrDenied, "docker login"},
	} {
		t.Run(name, func(t *testing.T) {
			host := serve(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if tc.change != nil && r.Header.Get("User-Agent") == "spoiled" {
						tc.change(next).ServeHTTP(w, r)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			push(t, host+"/team/good:1.2", module)
			push(t, host+"/team/large", make([]byte, 1<<20+1))
			pushText(t, reference(t, host+"/team/other"))
			pushScript(t, host+"/team/unnamed", "", []byte("export function sample() {}"))
			c := client
			if tc.change != nil {
				c.UserAgent = "spoiled"
			}
			_, err := c.Pull(t.Context(), reference(t, host+tc.from))
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v; want %v that says %q", err, tc.want, tc.says)
			}
		})
	}
}

// pushText pushes an artifact that is no plugin.
func pushText(t *testing.T, r artifact.Reference) {
	t.Helper()
	repository := must.Get(remote.NewRepository(strings.TrimSuffix(r.String(), ":latest")))(t)
	repository.PlainHTTP = true
	layer := must.Get(oras.PushBytes(t.Context(), repository, "text/plain", []byte("hello")))(t)
	options := oras.PackManifestOptions{}
	options.Layers = append(options.Layers, layer)
	manifest, err := oras.PackManifest(t.Context(), repository, oras.PackManifestVersion1_1, "text/plain", options)
	if err == nil {
		err = repository.Tag(t.Context(), manifest, "latest")
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestClient_Push_NotUnderADigest(t *testing.T) {
	host := serve(t, nil)
	digest := push(t, host+"/team/good", module)
	if _, err := client.Push(t.Context(), reference(t, host+"/team/good@"+digest), module, artifact.Description{}); !errors.Is(err, artifact.ErrReference) {
		t.Errorf("%v", err)
	}
}
