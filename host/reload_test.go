// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// reply is one of several that a plugin chooses all tokens of.
type reply struct {
	body string
	err  error
}

// eightStreams begins eight, of so many tokens, and returns when all have their first; ended counts those that are done.
func eightStreams(t *testing.T, h *Host, tokens int) (list []reply, ended *atomic.Int32, wait func()) {
	t.Helper()
	list, ended = make([]reply, 8), &atomic.Int32{}
	var begun, done sync.WaitGroup
	begun.Add(len(list))
	for i := range list {
		done.Go(func() {
			request := fmt.Sprintf(`{"prompt":"Hello","plugins":["always"],"ignore_eos":true,"stream":true,"max_tokens":%d}`, tokens)
			a, err := http.Post(h.URL()+"/v1/completions", "application/json", strings.NewReader(request))
			begun.Done() // the header comes with the first token
			if err != nil {
				list[i].err = err
				return
			}
			defer a.Body.Close()
			body, err := io.ReadAll(a.Body)
			ended.Add(1)
			list[i] = reply{string(body), err}
		})
	}
	begun.Wait()
	return list, ended, done.Wait
}

// replacePlugin replaces a plugin while eight streams use it, and tells whether they all still ran when the next request was
// served by the new one. Old and new are the tokens that the plugin chooses before and after.
func replacePlugin(t *testing.T, h *Host, old, next int, replace func(wasm []byte)) bool {
	t.Helper()
	const tokens = 300
	list, ended, wait := eightStreams(t, h, tokens)
	replace(always("always", next))
	status, text, _ := complete(t, h, `,"plugins":["always"]`)
	inTime := ended.Load() == 0
	wait()
	if want := strings.Repeat(h.core.Engine.Piece(int32(next)), 5); status != 200 || text != want {
		t.Errorf("%d %q, want %q of the new module", status, text, want)
	}
	piece := fmt.Sprintf(`"text":%q`, h.core.Engine.Piece(int32(old)))
	for i, s := range list {
		if n := strings.Count(s.body, piece); s.err != nil || n != tokens || !strings.Contains(s.body, `"finish_reason":"length"`) {
			t.Errorf("stream %d: %d of %d tokens are the old module's, %v", i, n, tokens, s.err)
		}
	}
	return inTime
}

func TestPlugins_Reload_RunningStreamsKeepTheirModule(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "always.wasm")
	change := map[string]any{"plugins.dir": dir, "server.admin_key": "secret", "scheduler.slots": "9", "model.ctx_size": "9000"}
	if err := os.WriteFile(file, always("always", 300), 0o600); err != nil {
		t.Fatal(err)
	}
	h := openWithPlugins(t, change, nil)
	token := 300
	for name, replace := range map[string]func(wasm []byte){
		"in the folder": func(wasm []byte) {
			if err := os.WriteFile(file+".new", wasm, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(file+".new", file); err != nil {
				t.Fatal(err)
			}
			if err := h.plugins.Scan(context.Background()); err != nil { // as Watch does every second
				t.Fatal(err)
			}
		},
		"by upload": func(wasm []byte) {
			if status, body := admin(t, h, http.MethodPost, "/v1/plugins", wasm); status != 200 {
				t.Fatalf("%d %s", status, body)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // until the machine was quick enough to replace it in time
				token++
				if replacePlugin(t, h, token-1, token, replace) || t.Failed() {
					return
				}
			}
			t.Error("the streams were always over before the plugin was replaced")
		})
	}
}

// uploads sends modules all at once, each a version of one of ten plugins, one in ten of them broken.
func uploads(t *testing.T, h *Host, n int) {
	t.Helper()
	client := &http.Client{}
	defer client.CloseIdleConnections()
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			wasm, want := always(fmt.Sprint("up-", i%9), 300+i), "20"
			if i%10 == 9 {
				wasm, want = wasm[:len(wasm)-1-i%40], "400"
			}
			status, body := adminBy(t, client, h, http.MethodPost, "/v1/plugins", wasm)
			for status == http.StatusServiceUnavailable { // the others have their turn
				status, body = adminBy(t, client, h, http.MethodPost, "/v1/plugins", wasm)
			}
			if !strings.HasPrefix(fmt.Sprint(status), want) {
				t.Errorf("upload %d: %d %s; want %s", i, status, body, want)
			}
		})
	}
	group.Wait()
}

// A thousand in the long test.
func TestPlugins_Upload_ManyAtOnce(t *testing.T) {
	h := openWithPlugins(t, map[string]any{"server.admin_key": "secret"}, nil)
	undisturbed := among(t, h)
	uploads(t, h, inLongTest(1000, 300))
	undisturbed()
	for i := range 9 {
		if status, text, _ := complete(t, h, fmt.Sprintf(`,"plugins":["up-%d"]`, i)); status != 200 || text == "" {
			t.Errorf("up-%d: %d %q", i, status, text)
		}
	}
	if list := get(t, h.URL()+"/v1/plugins"); strings.Count(list, `"state":"ready"`) != 9 || strings.Contains(list, `"failed"`) {
		t.Errorf("the plugins are %s", list)
	}
}
