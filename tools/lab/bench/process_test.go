// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// childBehaviour is the environment variable that makes the test's binary a server.
const childBehaviour = "BENCH_TEST_CHILD"

func child(behaviour string, args []string) int {
	if behaviour == "fail" {
		fmt.Fprintln(os.Stderr, "no such model")
		return 3
	}
	http.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	fmt.Fprintln(os.Stderr, http.ListenAndServe(args[len(args)-1], nil)) //nolint:gosec // ended by a signal
	return 1
}

func TestStart_WaitsUntilReady(t *testing.T) {
	t.Setenv(childBehaviour, "serve")
	p := must.Get(Start(t.Context(), Penstock(os.Args[0], "model.gguf", Size{Slots: 3})))(t)
	h := NewHTTP(p.URL)
	defer h.Close()
	if err := h.JSON(t.Context(), http.MethodGet, "/health", nil, nil); err != nil {
		t.Error("it is not ready, though Start said so:", err)
	}
	p.Stop()
	if err := h.JSON(t.Context(), http.MethodGet, "/health", nil, nil); err == nil {
		t.Error("it still answers after Stop")
	}
}

func TestStart_Failure_TellsWhatTheServerSaid(t *testing.T) {
	t.Setenv(childBehaviour, "fail")
	_, err := Start(t.Context(), LlamaServer(os.Args[0], "model.gguf", Size{}))
	if !errors.Is(err, ErrStart) || !strings.Contains(err.Error(), "no such model") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v", err)
	}
}
