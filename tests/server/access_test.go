// SPDX-License-Identifier: MIT

package server

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// keyFile is a file of keys that a test changes.
func keyFile(t *testing.T) (path string, write func(text string)) {
	path = filepath.Join(t.TempDir(), "keys")
	modified := time.Now().Add(-time.Hour)
	return path, func(text string) {
		t.Helper()
		modified = modified.Add(time.Second)
		must.Do(t, errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, modified, modified)))
	}
}

// Keys come and go with their file, while the server runs, and a broken file opens nothing.
func TestHost_KeyFile_IsReadAgain(t *testing.T) {
	path, write := keyFile(t)
	write("first alice\n")
	var log hosts.Buffer
	h := hosts.OpenLogged(t, slog.NewTextHandler(&log, nil), map[string]any{"server.api_key_file": path, "server.api_keys": "flag"})
	hosts.Run(t, h)
	status := func(key string) int {
		status, _, _ := hosts.Send(t, http.DefaultClient, hosts.NewRequest(t, http.MethodGet, h.URL()+"/v1/models", nil, "Authorization", "Bearer "+key))
		return status
	}
	if status("first") != 200 || status("flag") != 200 || status("second") != 401 {
		t.Error("the keys are not those of the file and the flag")
	}
	write("second bob\n")
	hosts.Await(t, func() bool { return status("second") == 200 && status("first") == 401 && status("flag") == 200 })
	write("# none\n")
	hosts.Await(t, func() bool {
		if status("second") != 200 || status("guess") != 401 {
			t.Fatal("a file without keys has changed who may come in")
		}
		return strings.Contains(log.String(), "cannot be used")
	})
}

// spans are the names of those that a collector has got, with the key of the client.
type spans struct {
	mu    sync.Mutex
	names []string
}

func (s *spans) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &request) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range request.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, span := range scope.Spans {
				name := span.Name
				for _, a := range span.Attributes {
					if a.Key == "enduser.id" || a.Key == "http.route" {
						name += " " + a.Value.GetStringValue()
					}
				}
				s.names = append(s.names, name)
			}
		}
	}
}

// An answer over REST and one over the WebSocket are a span each with three children, the log and
// the metrics have their tokens, and nothing is lost when the server ends.
func TestHost_Traces_ReachTheCollector(t *testing.T) {
	for _, name := range []string{"OTEL_SDK_DISABLED", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_SAMPLER"} {
		t.Setenv(name, "")
	}
	var got spans
	endpoint := httptest.NewServer(&got)
	defer endpoint.Close()
	path, write := keyFile(t)
	write("hush alice\n")
	var log hosts.Buffer
	h := hosts.OpenLogged(t, slog.NewTextHandler(&log, nil), map[string]any{"telemetry.otlp_endpoint": endpoint.URL, "server.api_key_file": path})
	stop := hosts.Run(t, h)
	status, _, text := hosts.Send(t, http.DefaultClient, hosts.NewRequest(t, http.MethodPost, h.URL()+"/v1/chat/completions", []byte(`{`+hosts.Frog+`,"max_tokens":5,"ignore_eos":true}`), "Authorization", "Bearer hush"))
	if status != 200 {
		t.Fatal(text)
	}
	conn, _ := must.Both(websocket.Dial(t.Context(), h.URL()+"/v1/ws", &websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {"hush"}}}))(t)
	must.Do(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"generate","id":"a","request":{`+hosts.Frog+`,"max_tokens":7,"ignore_eos":true}}`)))
	for last := ""; !strings.Contains(last, `"type":"end"`); {
		_, data := must.Both(conn.Read(t.Context()))(t)
		last = string(data)
	}
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		`penstock_client_tokens_total{key="alice",kind="generation",model_name="penstock-tiny"} 12`,
		`penstock_http_requests_total{key="alice",route="/v1/ws generate",status="200"} 1`, `penstock_build_info{version="test"} 1`, "llamacpp:tokens_predicted_total",
	} {
		hosts.Await(t, func() bool { // an answer is counted after its client has it
			_, _, metrics := hosts.Send(t, http.DefaultClient, hosts.NewRequest(t, http.MethodGet, h.URL()+"/metrics", nil, "Authorization", "Bearer hush"))
			return strings.Contains(metrics, want)
		})
	}
	stop()
	got.mu.Lock()
	defer got.mu.Unlock()
	slices.Sort(got.names)
	var parents []string
	for _, name := range got.names {
		if strings.HasPrefix(name, "chat ") {
			parents = append(parents, name)
		}
	}
	want := []string{"chat penstock-tiny /v1/chat/completions alice", "chat penstock-tiny /v1/ws generate alice"}
	if !slices.Equal(parents, want) || len(got.names) != 8 {
		t.Errorf("spans %q", got.names)
	}
	for _, line := range []string{`route=/v1/chat/completions status=200`, `route="/v1/ws generate" status=200`, "completion_tokens=7"} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("no %s in the log:\n%s", line, log.String())
		}
	}
}
