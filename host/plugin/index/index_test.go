// SPDX-License-Identifier: MIT

package index_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/index"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

const most = 1 << 20

// entry is that of a plugin, with some fields replaced.
func entry(change map[string]any) map[string]any {
	e := map[string]any{"name": "good", "sha256": strings.Repeat("0", 64), "size": 9, "url": "good.wasm", "manifest": map[string]any{"name": "good", "summary": "Does good"}}
	for field, value := range change {
		e[field] = value
	}
	return e
}

func text(t *testing.T, version int, entries ...map[string]any) []byte {
	t.Helper()
	return must.Get(json.Marshal(map[string]any{"version": version, "plugins": entries}))(t)
}

func TestParse_Refusals(t *testing.T) {
	with := func(field string, value any) []byte { return text(t, 1, entry(map[string]any{field: value})) }
	many := make([]map[string]any, 2001)
	for i := range many {
		many[i] = entry(nil)
	}
	for name, tc := range map[string]struct {
		text []byte
		says string
	}{
		"nothing":            {nil, "one JSON object"},
		"a list":             {[]byte(`[]`), "one JSON object"},
		"cut":                {text(t, 1, entry(nil))[:90], "one JSON object"},
		"two":                {append(text(t, 1), text(t, 1)...), "follows"},
		"nested":             {[]byte(strings.Repeat(`{"version":`, 20_000)), "one JSON object"},
		"no version":         {[]byte(`{"plugins":[]}`), `"version" is 0`},
		"later":              {text(t, 2), "update Penstock"},
		"many":               {text(t, 1, many...), "2000 are allowed"},
		"long":               {append(text(t, 1), make([]byte, index.MaxBytes)...), "more than"},
		"twice":              {text(t, 1, entry(nil), entry(nil)), `plugins[1].name is "good"`},
		"name":               {with("name", "../good"), "plugins[0].name"},
		"sha256":             {with("sha256", strings.Repeat("A", 64)), "plugins[0].sha256"},
		"size":               {with("size", most+1), "plugins[0].size"},
		"no size":            {with("size", 0), "plugins[0].size"},
		"licence":            {with("license", strings.Repeat("x", 3000)), "plugins[0].license"},
		"up":                 {with("url", "../good.wasm"), "leads out"},
		"up within":          {with("url", "a/../../good.wasm"), "leads out"},
		"escaped":            {with("url", "%2e%2e/good.wasm"), "leads out"},
		"absolute":           {with("url", "/etc/passwd"), "leads out"},
		"backslashes":        {with("url", `..\good.wasm`), "is used here"},
		"of another machine": {with("url", "//example.com/good.wasm"), "must begin with"},
		"http":               {with("url", "http://example.com/good.wasm"), "must begin with"},
		"file":               {with("url", "file:///etc/passwd"), "must begin with"},
		"password":           {with("url", "https://a:b@example.com/good.wasm"), "is used here"},
		"no URL":             {with("url", ""), "leads out"},
		"another manifest":   {with("manifest", map[string]any{"name": "other"}), `its manifest's "other"`},
	} {
		if i, err := index.Parse(tc.text, most); !errors.Is(err, index.ErrIndex) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %+v, %v; want %q", name, i, err, tc.says)
		}
	}
}

// What a later version of Penstock may know is left out, and the rest of the index is of use.
func TestParse_Unread(t *testing.T) {
	i, err := index.Parse(text(t, 1, entry(nil), entry(map[string]any{"name": "new", "manifest": map[string]any{"name": "new", "view": "thoughts"}, "later": 1})), most)
	if err != nil || len(i.Plugins) != 1 || len(i.Unread) != 1 || !strings.Contains(i.Unread[0], "new: bad manifest: view") {
		t.Fatalf("%+v, %v", i, err)
	}
	for words, want := range map[string]bool{"": true, "GOOD": true, "does go": true, "good does": true, "good bad": false} {
		if got := i.Plugins[0].Matches(strings.Fields(words)); got != want {
			t.Errorf("%q: %v", words, got)
		}
	}
}

func TestMake_IsRead(t *testing.T) {
	dir := t.TempDir()
	for base, content := range map[string][]byte{
		"b.wasm":    asm.New(`{"name":"good","version":"1.2","summary":"s","hold":3,"config_schema":{"type":"object"},"later":1}`).On("penstock_sample", asm.I32(-1)).Wasm(),
		".c.wasm":   []byte("unfinished"),
		"README.md": []byte("x"),
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, base), content, 0o600))
	}
	l := hosttest.Open(t, load.New)
	made := must.Get(index.Make(t.Context(), l, dir, index.Options{License: "MIT", URL: "https://example.com/{name}-{version}/{file}"}))(t)
	i, err := index.Parse(made, most)
	if err != nil || len(i.Plugins) != 1 {
		t.Fatalf("%+v, %v", i, err)
	}
	e := i.Plugins[0]
	if e.Name != "good" || e.URL != "https://example.com/good-1.2/b.wasm" || e.Path() != "" || e.License != "MIT" || e.Manifest.Hold != 3 ||
		string(e.Manifest.Unknown["later"]) != "1" || strings.Join(e.Exports, " ") != "penstock_abi_v1 penstock_describe penstock_sample" || strings.Join(e.Requires, " ") != "emit" {
		t.Errorf("%+v", e)
	}
	if again, err := index.Make(t.Context(), l, dir, index.Options{License: "MIT", URL: "https://example.com/{name}-{version}/{file}"}); err != nil || string(again) != string(made) {
		t.Errorf("made again it is another one: %s, %v", again, err)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "broken.wasm"), []byte("x"), 0o600))
	if _, err := index.Make(t.Context(), l, dir, index.Options{}); err == nil || !strings.HasPrefix(err.Error(), "broken.wasm: ") {
		t.Errorf("with a broken file: %v", err)
	}
}

func TestVerify(t *testing.T) {
	public, private := must.Both(ed25519.GenerateKey(nil))(t)
	coded := must.Get(x509.MarshalPKCS8PrivateKey(private))(t)
	read := must.Get(index.ReadPrivateKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: coded})))(t)
	key := must.Get(index.ParseKey(index.FormatKey(public)))(t)
	signed := []byte("an index")
	signature := index.Sign(signed, read)
	if err := index.Verify(signed, signature, key); err != nil {
		t.Error(err)
	}
	other, _ := must.Both(ed25519.GenerateKey(nil))(t)
	for name, err := range map[string]error{
		"a changed text":  index.Verify([]byte("an indey"), signature, key),
		"another's":       index.Verify(signed, signature, other),
		"cut":             index.Verify(signed, signature[:40], key),
		"no base64":       index.Verify(signed, []byte("?"), key),
		"empty signature": index.Verify(signed, nil, key),
	} {
		if !errors.Is(err, index.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", "ed25519:", "ed25519:AAAA", "rsa:" + index.FormatKey(public)} {
		if _, err := index.ParseKey(text); err == nil {
			t.Errorf("%q is a key", text)
		}
	}
	for _, text := range []string{"", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := index.ReadPrivateKey([]byte(text)); err == nil {
			t.Errorf("%q is a private key", text)
		}
	}
}

// Whatever is read as an index leads out of no folder, and is the same once it is written again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"plugins":[{"name":"a","sha256":"` + strings.Repeat("0", 64) + `","size":1,"url":"a.wasm","exports":["penstock_sample"],"manifest":{"name":"a","view":"logits"}}]}`))
	f.Add([]byte(`{"version":1,"key":"ed25519:","plugins":[{"name":"a","url":"%2e%2e/a"}]}`))
	f.Add([]byte(`{"version":1,"plugins":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		i, err := index.Parse(text, most)
		if err != nil {
			return
		}
		for _, e := range i.Plugins {
			if path := e.Path(); path != "" && !filepath.IsLocal(path) {
				t.Errorf("%q leads out of the folder", e.URL)
			}
		}
		written := must.Get(json.Marshal(i))(t)
		again, err := index.Parse(written, most)
		if err != nil || len(again.Plugins) != len(i.Plugins) {
			t.Errorf("%s is read as %+v, and that as %+v: %v", text, i, again, err)
		}
	})
}

// A list of more entries than are allowed is refused before they take room.
func TestParse_Many_TakesLittle(t *testing.T) {
	text := []byte(`{"version":1,"plugins":[` + strings.Repeat("{},", 1<<18) + `{}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := index.Parse(text, most)
	runtime.ReadMemStats(&after)
	if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; !errors.Is(err, index.ErrIndex) || taken > 150 {
		t.Errorf("%d MiB took %d MiB: %v", len(text)>>20, taken, err)
	}
}
