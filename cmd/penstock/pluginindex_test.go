// SPDX-License-Identifier: MIT

package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// published serves a folder of plugins whose index is signed.
type published struct {
	dir     string // the folder
	plugins string // a plugin folder, which is empty
	index   string // its address, with the key
}

func publish(t *testing.T) published {
	t.Helper()
	p := published{dir: t.TempDir(), plugins: filepath.Join(t.TempDir(), "plugins")}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	p.write(t, "good.wasm", asm.New(`{"name":"good","version":"1.2","summary":"does good, \u001b[31mand well"}`).On("penstock_sample", asm.I32(-1)).Wasm())
	p.write(t, "other.wasm", asm.New(`{"name":"other","summary":"something else"}`).Wasm())
	_, private := must.Both(ed25519.GenerateKey(nil))(t)
	coded := must.Get(x509.MarshalPKCS8PrivateKey(private))(t)
	key := filepath.Join(t.TempDir(), "key.pem")
	must.Do(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: coded}), 0o600))
	got := penstock(t, "", "plugin", "index", p.dir, "--sign", key, "--license", "MIT")
	_, pin, ok := strings.Cut(strings.TrimSpace(got.err), "#")
	if got.code != exitDone || !ok {
		t.Fatalf("%+v", got)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(p.dir)))
	t.Cleanup(server.Close)
	p.index = server.URL + "/index.json"
	p.index += "#" + pin
	return p
}

func (p published) write(t *testing.T, base string, content []byte) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(p.dir, base), content, 0o600))
}

func (p published) run(t *testing.T, args ...string) result {
	t.Helper()
	return penstock(t, "", append([]string{"plugin", args[0], "--plugin-dir", p.plugins, "--index", p.index}, args[1:]...)...)
}

func TestPluginSearch_ThenInstall(t *testing.T) {
	p := publish(t)
	got := p.run(t, "search", "GOOD", "well")
	if got.code != exitDone || !strings.Contains(got.out, "good  1.2") || strings.Contains(got.out, "other") || strings.Contains(got.out, "\x1b") {
		t.Fatalf("%+v", got)
	}
	var found []offered
	if got := p.run(t, "search", "--json", "good"); json.Unmarshal([]byte(got.out), &found) != nil || len(found) != 1 || found[0].License != "MIT" || found[0].State != "" {
		t.Fatalf("%+v", got)
	}
	got = p.run(t, "install", "good@sha256:"+found[0].SHA256)
	if got.code != exitDone || !strings.Contains(got.out, filepath.Join(p.plugins, "good.wasm")) || !strings.Contains(got.err, "good@sha256:"+found[0].SHA256) {
		t.Fatalf("%+v", got)
	}
	if got := p.run(t, "search"); !strings.Contains(got.out, "installed") || !strings.Contains(got.out, "other") {
		t.Errorf("%+v", got)
	}
	if got := penstock(t, "", "plugin", "list", "--plugin-dir", p.plugins); !strings.Contains(got.out, "good") || !strings.Contains(got.out, "ready") {
		t.Errorf("%+v", got)
	}
	if got := p.run(t, "search", "--offline", "good"); got.code != exitDone || !strings.Contains(got.out, "good") || !strings.Contains(got.err, "the copy of") {
		t.Errorf("%+v", got)
	}
}

// Whatever is wrong, nothing comes into the plugin folder, and the error says what it is.
func TestPluginInstall_Refusals(t *testing.T) {
	zeros := "good@sha256:" + strings.Repeat("0", 64)
	for name, tc := range map[string]struct {
		change func(*testing.T, published)
		args   []string
		code   int
		says   string
	}{
		"a tampered file": {func(t *testing.T, p published) {
			p.write(t, "good.wasm", asm.New(`{"name":"good","version":"1.2","summary":"does evil, \u001b[31mand well"}`).On("penstock_sample", asm.I32(-1)).Wasm())
		}, []string{"good"}, exitFailed, "SHA-256"},
		"a tampered index": {func(t *testing.T, p published) {
			text := must.Get(os.ReadFile(filepath.Join(p.dir, "index.json")))(t)
			p.write(t, "index.json", []byte(strings.Replace(string(text), "does good", "does Good", 1)))
		}, []string{"good"}, exitFailed, "the signature is not that of the index's key"},
		"no signature":     {func(t *testing.T, p published) { _ = os.Remove(filepath.Join(p.dir, "index.json.sig")) }, []string{"good"}, exitFailed, "there is no signature"},
		"another name":     {nil, []string{"better"}, exitFailed, `no index has a plugin "better"`},
		"another digest":   {nil, []string{zeros}, exitFailed, "no index has plugin good with SHA-256 0000"},
		"no digest":        {nil, []string{"good@sha256:12"}, exitWrongUse, "64 hexadecimal digits"},
		"two that differ":  {nil, []string{"good", "--index", anotherGood(t)}, exitFailed, "several indexes have a plugin good"},
		"locked":           {nil, []string{"good", "--plugin-lock", zeros}, exitFailed, "plugins.lock"},
		"offline at first": {nil, []string{"good", "--offline"}, exitFailed, "no copy of it yet"},
		"no index":         {nil, []string{"good", "--index", "ftp://example.com/"}, exitWrongUse, "--index"},
	} {
		t.Run(name, func(t *testing.T) {
			p := publish(t)
			if tc.change != nil {
				tc.change(t, p)
			}
			got := p.run(t, append([]string{"install"}, tc.args...)...)
			if got.code != tc.code || !strings.Contains(got.err, tc.says) {
				t.Errorf("exit %d, %s; want %q", got.code, got.err, tc.says)
			}
			if files, _ := os.ReadDir(p.plugins); len(files) > 0 {
				t.Errorf("the plugin folder has %v", files)
			}
		})
	}
}

// anotherGood is the folder of an index with another plugin of the name good.
func anotherGood(t *testing.T) string {
	t.Helper()
	dir := pluginFolder(t)
	must.Do(t, os.Remove(filepath.Join(dir, "broken.wasm")))
	if got := penstock(t, "", "plugin", "index", dir); got.code != exitDone {
		t.Fatal(got.err)
	}
	return dir
}

// A file that calls itself otherwise than its index says would take another plugin's place.
func TestPluginInstall_NameOfTheFile(t *testing.T) {
	p := published{dir: anotherGood(t), plugins: filepath.Join(t.TempDir(), "plugins")}
	p.index = p.dir
	text := must.Get(os.ReadFile(filepath.Join(p.dir, "index.json")))(t)
	p.write(t, "index.json", []byte(strings.ReplaceAll(string(text), `"name": "good"`, `"name": "harmless"`)))
	got := p.run(t, "install", "harmless")
	if files, _ := os.ReadDir(p.plugins); got.code != exitFailed || !strings.Contains(got.err, `its file calls itself "good"`) || len(files) > 0 {
		t.Errorf("%+v, %v", got, files)
	}
}

// What comes with the server is found and listed without an index, and needs no installing.
func TestPluginInstall_Bundled(t *testing.T) {
	dir, empty := anotherGood(t), t.TempDir()
	flags := []string{"--plugin-dir", empty, "--plugin-bundled", dir}
	for _, args := range [][]string{{"search", "good"}, {"list"}, {"install", "good"}} {
		got := penstock(t, "", append(append([]string{"plugin"}, args...), flags...)...)
		if got.code != exitDone || !strings.Contains(got.out+got.err, "good") || !strings.Contains(got.out+got.err, "comes with the server") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if files, _ := os.ReadDir(empty); len(files) > 0 {
		t.Errorf("the plugin folder has %v", files)
	}
}
