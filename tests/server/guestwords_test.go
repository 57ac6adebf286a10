// SPDX-License-Identifier: MIT

package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// Who asks for answers here, and what one of them sends to its plugins.
const (
	talkerKey    = "client-key-of-the-talker-1"
	listenerKey  = "client-key-of-the-listener"
	talkerSecret = "the-talkers-secret-4711"
)

// repeater is a guest that says its configuration in every way that a guest has, and then does
// what code says.
func repeater(name string, export string, code ...[]byte) []byte {
	g := asm.New(fmt.Sprintf(`{"name":%q,"version":"1"}`, name))
	output := g.CallOf(abi.Signature{Name: "wasi_snapshot_preview1.fd_write", Params: []string{"i32", "i32", "i32", "i32"}, Results: []string{"i32"}})
	const at, size = 8192, 1024
	say := [][]byte{asm.I32(at), asm.I32(size), g.Call(abi.ImportConfig), asm.SetLocal(3)}
	for _, level := range []int{abi.LogDebug, abi.LogError} {
		say = append(say, asm.I32(level), asm.I32(at), asm.Local(3), g.Call(abi.ImportLog))
	}
	say = append(say, asm.Poke(4096, at), asm.I32(4100), asm.Local(3), asm.Store)
	for _, file := range []int{1, 2} {
		say = append(say, asm.I32(file), asm.I32(4096), asm.I32(1), asm.I32(4104), output, asm.Drop)
	}
	say = append(say, asm.I32(at), asm.Local(3), g.Call(abi.ImportFail))
	return g.On(export, append(say, code...)...).Wasm()
}

// repeaters are guests that fail in the ways in which their words are told.
func repeaters() map[string][]byte {
	return map[string][]byte{
		"traps":   repeater("traps", abi.ExportAccept, asm.Unreachable),
		"refuses": repeater("refuses", abi.ExportOpen, asm.I32(1)),
		"works":   repeater("works", abi.ExportAccept, asm.I32(0)),
		"writes":  repeater("writes", abi.ExportTemplate, asm.Unreachable),
	}
}

// talk has the talker's plugins say the secret, and returns what the talker was answered.
func talk(t *testing.T, h *host.Host) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"traps", "refuses", "works", "writes"} {
		for _, more := range []string{"", `,"stream":true`, `,"record":true`} {
			for _, onError := range []string{"fail", "skip"} {
				use := fmt.Sprintf(`"max_tokens":3,"plugins":[{"name":%q,"config":{"say":%q},"on_error":%q}]%s`, name, talkerSecret, onError, more)
				all.WriteString(sendAs(t, h, http.MethodPost, "/v1/completions", talkerKey, `{"prompt":"Hello",`+use+`}`))
				all.WriteString(sendAs(t, h, http.MethodPost, "/v1/chat/completions", talkerKey, `{"messages":[{"role":"user","content":"Hello"}],`+use+`}`))
			}
		}
	}
	return all.String()
}

// overhear does what another client, or the admin, may do to learn of it.
func overhear(t *testing.T, h *host.Host, key string) string {
	t.Helper()
	var all strings.Builder
	for _, path := range []string{"/v1/plugins", "/v1/plugins/traps", "/v1/plugins/refuses", "/v1/plugins/tires", "/metrics", "/slots", "/v1/load", "/props",
		"/v1/models", "/v1/recordings", "/health"} {
		all.WriteString(sendAs(t, h, http.MethodGet, path, key, ""))
	}
	for range abi.LimitFaults + 1 { // until it is in quarantine itself
		all.WriteString(sendAs(t, h, http.MethodPost, "/v1/completions", key, `{"prompt":"Hello","max_tokens":3,"plugins":["traps"]}`))
	}
	conn, _ := must.Both(websocket.Dial(t.Context(), h.URL()+"/v1/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + key}}}))(t)
	defer func() { _ = conn.CloseNow() }()
	must.Do(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"generate","id":"a","request":{"prompt":"Hello","max_tokens":3,"plugins":["traps"]}}`)))
	for !strings.Contains(all.String(), `"type":"error"`) && !strings.Contains(all.String(), `"type":"end"`) {
		_, frame := must.Both(conn.Read(t.Context()))(t)
		all.Write(frame)
	}
	return all.String()
}

// What a guest logs, prints and says in a request, its own client reads, and nobody else: no other
// client, not the admin, and not who reads the log or the metrics, unless the operator asks for
// it.
func TestHost_GuestWords_StayWithTheirClient(t *testing.T) {
	for _, logged := range []bool{false, true} {
		t.Run(fmt.Sprintf("plugins.log=%v", logged), func(t *testing.T) {
			dir := t.TempDir()
			for name, wasm := range repeaters() {
				must.Do(t, os.WriteFile(filepath.Join(dir, name+".wasm"), wasm, 0o600))
			}
			var log hosts.Buffer
			change := map[string]any{"server.api_keys": []string{talkerKey, listenerKey}, "server.admin_key": adminSecret, "log.level": "debug",
				"plugins.dir": dir, "plugins.log": logged}
			h := hosts.OpenLogged(t, slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}), change)
			stop := hosts.Run(t, h)
			own := talk(t, h)
			heard := map[string]string{"listener": overhear(t, h, listenerKey), "admin": overhear(t, h, adminSecret)}
			stop()
			http.DefaultClient.CloseIdleConnections()
			if n := strings.Count(own, talkerSecret); n < 6 { // else the test would prove nothing
				t.Errorf("the talker reads its plugins' words %d times: %s", n, own)
			}
			if faulted := strings.Contains(heard["listener"], `"last_fault":"plugin traps: penstock_accept: error of the plugin"`); !faulted {
				t.Errorf("others are not told of faults: %s", heard["listener"])
			}
			if strings.Contains(log.String(), talkerSecret) != logged {
				t.Errorf("plugins.log is %v, and the log: %s", logged, log.String())
			}
			for who, text := range heard {
				if at := strings.Index(text, talkerSecret); at >= 0 {
					t.Errorf("the %s reads: %.600s", who, text[max(0, at-400):])
				}
			}
		})
	}
}
