// SPDX-License-Identifier: MIT

package hosts

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/host"
)

// process is what all tests of a package have in common.
var process struct {
	dir    string // removed at the end; the cache of all hosts is in it
	mu     sync.Mutex
	shared map[string]*sharedHost // by what was asked for
}

// sharedHost is a host that runs until all tests have ended.
type sharedHost struct {
	*host.Host
	stop    context.CancelFunc
	ended   chan error
	uploads map[string]bool
}

// tests runs a package's tests and closes what they shared, so that goleak sees what is left.
type tests struct{ m *testing.M }

func (r tests) Run() int {
	code, err := runIn(r.m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

func runIn(m *testing.M) (code int, err error) {
	if process.dir, err = os.MkdirTemp("", "penstock-tests-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(process.dir)) }()
	caches, err := os.UserCacheDir()
	if err != nil {
		return 1, err
	}
	env := map[string]string{"XDG_CACHE_HOME": filepath.Join(process.dir, "cache")}
	if os.Getenv("GOCACHE") == "" { // what tests build is not compiled anew with all that it needs
		env["GOCACHE"] = filepath.Join(caches, "go-build")
	}
	for name, value := range env {
		if err := os.Setenv(name, value); err != nil {
			return 1, err
		}
	}
	code = m.Run()
	return code, closeShared()
}

// CodeCache is the folder in which the hosts of a package keep compiled plugins.
func CodeCache() string { return filepath.Join(process.dir, "cache", "penstock", "code") }

func closeShared() error {
	http.DefaultClient.CloseIdleConnections()
	var errs []error
	for _, h := range process.shared {
		h.stop()
		errs = append(errs, <-h.ended, h.Close())
	}
	return errors.Join(errs...)
}

var _ goleak.TestingM = tests{}

// Shared is a running host that all tests of a package share that want the same settings and
// modules in its plugin folder. It is for tests that ask and look at answers. A test that uploads
// plugins, counts requests, lists recordings, saves slots or closes its host opens one of its own.
func Shared(t *testing.T, change map[string]any, modules map[string][]byte) *host.Host {
	t.Helper()
	return share(t, change, modules).Host
}

// SharedWithExamples is a shared host that has plugins of build/plugins, where `make plugins` puts
// them. Each is uploaded when the first test wants it, so most are compiled once.
func SharedWithExamples(t *testing.T, names ...string) *host.Host {
	t.Helper()
	h := share(t, map[string]any{"server.admin_key": "secret"}, nil)
	for _, name := range names {
		if h.uploads[name] {
			continue
		}
		if status, text := Admin(t, h.Host, http.MethodPost, "/v1/plugins", Example(t, name)); status != http.StatusOK && status != http.StatusCreated {
			t.Fatalf("%s: %d %s", name, status, text)
		}
		h.uploads[name] = true
	}
	return h.Host
}

func share(t *testing.T, change map[string]any, modules map[string][]byte) *sharedHost {
	t.Helper()
	process.mu.Lock()
	defer process.mu.Unlock()
	key := fmt.Sprint(change) // maps are printed in the order of their keys
	for _, base := range slices.Sorted(maps.Keys(modules)) {
		key += fmt.Sprintf(" %s %x", base, sha256.Sum256(modules[base]))
	}
	if h := process.shared[key]; h != nil {
		return h
	}
	dir, err := os.MkdirTemp(process.dir, "shared-") //nolint:usetesting // it outlives the test
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(context.Background(), options(configure(t, dir, withModules(t, filepath.Join(dir, "plugins"), change, modules))))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	made := &sharedHost{h, stop, make(chan error, 1), map[string]bool{}}
	go func() { made.ended <- h.Run(ctx) }()
	if process.shared == nil {
		process.shared = map[string]*sharedHost{}
	}
	process.shared[key] = made
	return made
}
