// SPDX-License-Identifier: MIT

package script

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/session"
)

// Each script of the gallery does on this machine, bit for bit, what it did on the one that has
// recorded it. testdata/gallery has the recordings, of TestGallery_Recorded_ComesOutTheSame in
// tests/plugins, which writes them with -update.
func TestGallery_Recordings_ComeOutTheSame(t *testing.T) {
	files, err := filepath.Glob("gallery/*.js")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".js")
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := os.ReadFile(filepath.Join("testdata/gallery", name+".json.gz"))
		if err != nil {
			t.Errorf("%s: %v; run `go -C tests test ./plugins -run Gallery_Recorded -update`", name, err)
			continue
		}
		f, err := session.Read(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(name, err)
		}
		p, err := session.NewPlayer(t.Context(), load.File{Content: Module()}, f, plugin.HostOptions{CacheDir: codeCache, Interpreter: Module})
		if err != nil {
			t.Fatal(name, said(err))
		}
		calls := 0
		for i := range f.Sessions {
			s := &f.Sessions[i]
			var config struct{ Source string }
			if err := json.Unmarshal(s.Request.Config, &config); err != nil || config.Source != string(source) {
				t.Errorf("%s is another script than the one that was recorded; run `go -C tests test ./plugins -run Gallery_Recorded -update` (%v)", name, err)
			}
			if d, err := p.Play(t.Context(), s); d != nil || err != nil {
				t.Errorf("%s: %v %v", name, d, err)
			}
			calls += len(s.Calls)
		}
		if calls == 0 {
			t.Errorf("%s: nothing was played", name)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
