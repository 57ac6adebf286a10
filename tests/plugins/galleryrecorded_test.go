// SPDX-License-Identifier: MIT

//go:build !race

package plugins

import (
	"bytes"
	"compress/gzip"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/session"
	interpreter "github.com/penstock/penstock/plugins/script"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

var update = flag.Bool("update", false, "record the gallery's scripts for the tests of plugins/script once more")

// Each script of the gallery is recorded on the built-in model, and does the same again without it.
// TestGallery_Recordings_ComeOutTheSame of plugins/script plays recordings that another machine has
// made; this test writes them: `go -C tests test ./plugins -run Gallery_Recorded -update`.
func TestGallery_Recorded_ComesOutTheSame(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	files, err := filepath.Glob(filepath.Join(gallery, "*.js"))
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".js")
		f := recorded(t, h, "/v1/chat/completions", `{`+hosts.Frog+`,"record":true,"seed":7,"temperature":1,"max_tokens":24,"plugins":[`+script(t, name, "")+`]}`)
		f.Note, f.Recording = name+".js of the gallery on the built-in model", nil // the answers have times
		var text bytes.Buffer
		must.Do(t, f.Write(&text))
		if f, err = session.Read(bytes.NewReader(text.Bytes())); err != nil {
			t.Fatal(err)
		}
		p := must.Get(session.NewPlayer(t.Context(), load.File{Content: interpreter.Module()}, f, plugin.HostOptions{CacheDir: hosts.CodeCache(), Interpreter: interpreter.Module}))(t)
		for i := range f.Sessions {
			if d, err := p.Play(t.Context(), &f.Sessions[i]); d != nil || err != nil {
				t.Errorf("%s: %v %v", name, d, err)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if !*update {
			continue
		}
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err == nil {
			_, err = z.Write(text.Bytes())
		}
		if err == nil {
			err = z.Close()
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(filepath.Dir(gallery), "testdata", "gallery", name+".json.gz"), packed.Bytes(), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
