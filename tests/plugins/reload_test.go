// SPDX-License-Identifier: MIT

package plugins

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// replacePlugin replaces a plugin while eight answers use it, of which four are paused, so that
// they are not over before. The next request is served by the new one. Old and next are the tokens
// that the plugin chooses before and after.
func replacePlugin(t *testing.T, h *host.Host, old, next int, replace func(wasm []byte)) {
	t.Helper()
	const tokens = 300
	c := hosts.Dial(t, h)
	ended := 0
	for i := range 8 {
		c.Send(fmt.Sprintf(`{"type":"generate","id":"%d","request":{"prompt":"Hello","plugins":["always"],"ignore_eos":true,"max_tokens":%d}}`, i, tokens))
		for f := c.Frame(); f.Type != "started"; f = c.Frame() {
			if f.Type == "end" { // on a very busy machine one that was begun before
				ended++
			}
		}
		if i < 4 {
			c.Send(fmt.Sprintf(`{"type":"pause","id":"%d"}`, i))
		}
	}
	replace(hosts.Always("always", next))
	status, text, _ := hosts.Complete(t, h, `,"plugins":["always"]`)
	if want := strings.Repeat(hosts.Piece(t, next), 5); status != 200 || text != want {
		t.Errorf("%d %q, want %q of the new module", status, text, want)
	}
	for i := range 4 {
		c.Send(fmt.Sprintf(`{"type":"resume","id":"%d"}`, i))
	}
	for ended < 8 {
		f := c.Frame()
		if f.Type != "end" {
			continue
		}
		ended++
		if n := strings.Count(c.Texts[f.ID], hosts.Piece(t, old)); n != tokens || f.Reason != "length" {
			t.Errorf("answer %s, ended by %s: %d of %d tokens are the old module's", f.ID, f.Reason, n, tokens)
		}
	}
}

func TestPlugins_Reload_RunningStreamsKeepTheirModule(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "always.wasm")
	change := map[string]any{"plugins.dir": dir, "server.admin_key": "secret", "scheduler.slots": "9", "model.ctx_size": "9000"}
	must.Do(t, os.WriteFile(file, hosts.Always("always", 300), 0o600))
	h := hosts.OpenWithPlugins(t, change, nil)
	token := 300
	for name, replace := range map[string]func(wasm []byte){
		"in the folder": func(wasm []byte) {
			must.Do(t, os.WriteFile(file+".new", wasm, 0o600))
			must.Do(t, os.Rename(file+".new", file))
			digest := fmt.Sprintf("%x", sha256.Sum256(wasm))
			hosts.Await(t, func() bool { return strings.Contains(hosts.Get(t, h.URL()+"/v1/plugins"), digest) }) // the folder is looked at every second
		},
		"by upload": func(wasm []byte) {
			if status, body := hosts.Admin(t, h, http.MethodPost, "/v1/plugins", wasm); status != 200 {
				t.Fatalf("%d %s", status, body)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			token++
			replacePlugin(t, h, token-1, token, replace)
		})
	}
}
