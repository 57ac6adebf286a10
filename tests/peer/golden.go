// SPDX-License-Identifier: MIT

package peer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/tools/lab/bench"
)

// modeEnv says where llama-server's answers come from: "" is the golden files, "live" the program
// itself, and "record" the program, whose answers then become the golden files.
const modeEnv = "PENSTOCK_TEST_LLAMA_SERVER"

// Live reports whether llama-server itself answers, so that a test may ask what is not stored.
func Live() bool { return os.Getenv(modeEnv) == "live" }

// Recording reports whether llama-server's answers become the golden files.
func Recording() bool { return os.Getenv(modeEnv) == "record" }

// running reports whether the program runs.
func running() bool { return Live() || Recording() }

const remedy = "`make golden` records llama-server's answers anew"

// golden is a stand-in for one llama-server of a test, with its file.
type golden struct {
	testing.TB
	path    string
	program string   // its URL, if it runs
	files   []string // named in the program's arguments: answers have the paths, the file numbers

	mu      sync.Mutex
	answers []storedAnswer
	asked   map[string]int
}

// origin is the first line of a golden file: what its answers depend on besides the requests.
type origin struct {
	LlamaCpp  string   `json:"llama.cpp"`
	Arguments []string `json:"arguments"` // in place of a file's path: its name and the beginning of its hash
}

// storedAnswer is another line. The same request may be answered otherwise the next time.
type storedAnswer struct {
	Request string `json:"request"`
	Status  int    `json:"status"`
	Type    string `json:"type"`
	Body    string `json:"body"`
}

// opened counts the golden files of tests that run: one that starts two servers has two.
var opened = struct {
	sync.Mutex
	by map[string]int
}{by: map[string]int{}}

var unusual = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

// openGolden opens the next golden file of a test, which is for a program with such arguments.
func openGolden(t testing.TB, arguments []string) *golden {
	t.Helper()
	opened.Lock()
	opened.by[t.Name()]++
	n := opened.by[t.Name()]
	opened.Unlock()
	name := unusual.ReplaceAllString(t.Name(), "_")
	if n > 1 {
		name += fmt.Sprint("-", n)
	}
	g := &golden{TB: t, path: filepath.Join("testdata", "llama-server", name+".jsonl.gz"), asked: map[string]int{}}
	of := g.originOf(arguments)
	if !running() {
		g.load(of)
	}
	t.Cleanup(func() {
		opened.Lock()
		delete(opened.by, t.Name())
		opened.Unlock()
		if Recording() {
			g.save(of)
		}
	})
	return g
}

var pinned = regexp.MustCompile(`(?m)^tag=(\S+)$`)

// originOf describes arguments so that they are the same in any folder, and lists the files that
// they name.
func (g *golden) originOf(arguments []string) origin {
	g.Helper()
	lock, err := os.ReadFile(inRepository(g, "native/llama.cpp/llama.lock"))
	if err != nil {
		g.Fatal(err)
	}
	of := origin{LlamaCpp: string(pinned.FindSubmatch(lock)[1])}
	for _, argument := range arguments {
		path, rest, _ := strings.Cut(argument, ":") // of an adapter and its scale
		if data, err := os.ReadFile(path); err == nil {
			g.files = append(g.files, path)
			argument = fmt.Sprintf("%s %.4x %s", filepath.Base(path), sha256.Sum256(data), rest)
		}
		of.Arguments = append(of.Arguments, argument)
	}
	return of
}

// load reads the file, which has to be of that origin.
func (g *golden) load(of origin) {
	g.Helper()
	file, err := os.Open(g.path)
	if err != nil {
		g.Fatalf("%v; %s", err, remedy)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		g.Fatal(g.path, err)
	}
	var is origin
	lines := json.NewDecoder(unzipped)
	if err := lines.Decode(&is); err != nil {
		g.Fatal(g.path, err)
	}
	if !reflect.DeepEqual(is, of) {
		g.Fatalf("%s is of another llama-server, model or command line; %s:\nstored %q\nnow    %q", g.path, remedy, is, of)
	}
	for {
		var a storedAnswer
		if err := lines.Decode(&a); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			g.Fatal(g.path, err)
		}
		g.answers = append(g.answers, a)
	}
}

// save writes the file.
func (g *golden) save(of origin) {
	g.Helper()
	var zipped bytes.Buffer
	z, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	lines := json.NewEncoder(z)
	lines.SetEscapeHTML(false)
	err = errors.Join(err, lines.Encode(of))
	slices.SortFunc(g.answers, func(a, b storedAnswer) int { return strings.Compare(a.Request, b.Request) })
	for _, a := range g.answers {
		err = errors.Join(err, lines.Encode(a))
	}
	err = errors.Join(err, z.Close(), os.MkdirAll(filepath.Dir(g.path), 0o755))
	if err := errors.Join(err, os.WriteFile(g.path, zipped.Bytes(), 0o644)); err != nil {
		g.Error(err)
	}
}

// placeholder stands for the path of a file in stored answers.
func placeholder(i int) string { return fmt.Sprintf("⟦file %d⟧", i) }

// answer is the stored answer to a request, or that of the program, which is stored.
func (g *golden) answer(request string, ask func() (storedAnswer, error)) storedAnswer {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked[request]++
	if n := g.asked[request]; n > 1 {
		request += fmt.Sprint(" again ", n)
	}
	if running() {
		a, err := ask()
		if err != nil {
			g.Errorf("llama-server: %s: %v", request, err)
		}
		kept := a
		kept.Request = request
		for i, path := range g.files {
			kept.Body = strings.ReplaceAll(kept.Body, path, placeholder(i))
		}
		g.answers = append(g.answers, kept)
		return a
	}
	at := slices.IndexFunc(g.answers, func(a storedAnswer) bool { return a.Request == request })
	if at < 0 {
		g.Errorf("%s has no answer to %s; %s", g.path, request, remedy)
		return storedAnswer{Status: http.StatusNotImplemented}
	}
	a := g.answers[at]
	for i, path := range g.files {
		a.Body = strings.ReplaceAll(a.Body, placeholder(i), path)
	}
	return a
}

// ServeHTTP answers as llama-server does.
func (g *golden) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		g.Error(err)
	}
	request := fmt.Sprintf("%s %s %.8x", r.Method, r.URL, sha256.Sum256(body))
	a := g.answer(request, func() (a storedAnswer, err error) {
		forwarded, err := http.NewRequestWithContext(r.Context(), r.Method, g.program+r.URL.String(), bytes.NewReader(body))
		if err != nil {
			return a, err
		}
		forwarded.Header.Set("Content-Type", r.Header.Get("Content-Type"))
		forwarded.Close = true // llama-server ends connections after some requests, and a POST is not sent twice
		response, err := http.DefaultClient.Do(forwarded)
		if err != nil {
			return a, err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return storedAnswer{Status: response.StatusCode, Type: response.Header.Get("Content-Type"), Body: string(text)}, err
	})
	w.Header().Set("Content-Type", a.Type)
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, a.Body) // the test has gone if it cannot be written
}

// LlamaServer is llama-server with a model (a path, or one from the root of the repository) until
// the test ends, with two slots of 2048 tokens each unless flags say otherwise. `make golden` has
// stored its answers in the testdata of the test's package; llama-server itself runs only with
// PENSTOCK_TEST_LLAMA_SERVER, as in `make test-long`.
func LlamaServer(t testing.TB, model string, flags ...string) Server {
	t.Helper()
	c := bench.LlamaServer(llamaServer(t), inRepository(t, model), bench.Size{Slots: slots, Context: cells, Threads: threads}, append(slices.Clone(exactFlags), flags...)...)
	g := openGolden(t, c.Args)
	if running() {
		c.Env = append(os.Environ(), "LLAMA_MEDIA_MARKER=<__here__>") // else drawn by chance, and requests have it
		p, err := bench.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Stop)
		g.program = p.URL
	}
	s := httptest.NewServer(g)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		s.Close()
	})
	return Server{URL: s.URL}
}

// llamaServer is the path of the program. The test fails if it is needed and not there.
func llamaServer(t testing.TB) string {
	t.Helper()
	program := inRepository(t, "build/llama.cpp/tools/llama-server")
	if _, err := os.Stat(program); err != nil && running() {
		t.Fatalf("llama-server is not built; `make llama-server` does that: %v", err)
	}
	return program
}
