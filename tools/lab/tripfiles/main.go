// SPDX-License-Identifier: MIT

// Command tripfiles counts the source files that one request runs through on a server
// that is warm: how far a reader has to walk who follows it.
//
//	go run ./tools/lab/tripfiles [-files] [-route /v1/completions -body '{…}']
//
// It builds Penstock with counters of all statements, has the server answer once, clears the
// counters, sends the request, waits for the end of its answer and reads the counters. What else
// the server does in that time, such as the statistics of its minute, counts as well.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock/penstock/tools/lab/bench"
)

const module = "github.com/penstock/penstock/"

const chat = `{"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 16, "stream": true}`

func main() {
	log.SetFlags(0)
	files := flag.Bool("files", false, "list the files, too")
	route := flag.String("route", "/v1/chat/completions", "route of the request")
	body := flag.String("body", chat, "body of the request")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *route, *body, *files); err != nil {
		log.Fatal(err)
	}
}

// run measures one request in a folder of its own.
func run(ctx context.Context, out io.Writer, route, body string, files bool) (err error) {
	folder, err := os.MkdirTemp("", "tripfiles")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	server, controlURL, err := start(ctx, folder)
	if err != nil {
		return err
	}
	defer server.Stop()
	client, control := bench.NewHTTP(server.URL), bench.NewHTTP(controlURL)
	defer client.Close()
	defer control.Close()
	for range 3 { // the third finds everything as the second left it
		if err := control.JSON(ctx, http.MethodPost, "/clear", nil, nil); err != nil {
			return err
		}
		if err := client.JSON(ctx, http.MethodPost, route, json.RawMessage(body), nil); err != nil {
			return err
		}
	}
	counters := filepath.Join(folder, "request")
	if err := os.Mkdir(counters, 0o700); err != nil {
		return err
	}
	if err := control.JSON(ctx, http.MethodPost, "/write?to="+counters, nil, nil); err != nil {
		return err
	}
	profile, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+counters, "-o=/dev/stdout").Output()
	if err != nil {
		return fmt.Errorf("reading the counters: %w", err)
	}
	return report(out, profile, files)
}

// controlSource is compiled into the server: it clears and writes the counters on request, since
// only the program itself can. It goes into the package web, which has no counters: those of other
// packages are put in by a tool that does not see the build's overlay.
const controlSource = `package web

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/coverage"
)

func init() {
	if len(os.Args) < 2 || os.Args[1] != "serve" {
		return // a child: its parent reads what it prints
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("http://" + l.Addr().String())
	answer := func(w http.ResponseWriter, err error) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
	http.HandleFunc("/clear", func(w http.ResponseWriter, r *http.Request) { answer(w, coverage.ClearCounters()) })
	http.HandleFunc("/write", func(w http.ResponseWriter, r *http.Request) {
		to := r.FormValue("to")
		if err := coverage.WriteMetaDir(to); err != nil {
			answer(w, err)
			return
		}
		answer(w, coverage.WriteCountersDir(to))
	})
	go http.Serve(l, nil)
}
`

// start builds Penstock in folder and serves its built-in model; control is the URL at which its
// counters can be read.
func start(ctx context.Context, folder string) (server *bench.Process, control string, err error) {
	source, overlay, program := filepath.Join(folder, "control.go"), filepath.Join(folder, "overlay.json"), filepath.Join(folder, "penstock")
	place, err := filepath.Abs("web/zz_control.go")
	if err != nil {
		return nil, "", err
	}
	err = errors.Join(os.WriteFile(source, []byte(controlSource), 0o600),
		os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, place, source), 0o600))
	if err != nil {
		return nil, "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-cover", "-covermode=atomic", "-coverpkg=./cmd/...,./host/...,./native/...,./plugins/...,./scheduler/...",
		"-overlay="+overlay, "-o", program, "./cmd/penstock")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("building: %w\n%s", err, text)
	}
	printed, err := os.Create(filepath.Join(folder, "printed")) // open as long as the server prints
	if err != nil {
		return nil, "", err
	}
	c := bench.Penstock(program, "", bench.Size{}, "--log-level", "info")
	c.Env, c.Output = append(os.Environ(), "GOCOVERDIR="+folder), printed // its children leave their counters there
	if server, err = bench.Start(ctx, c); err != nil {
		return nil, "", err
	}
	text, err := os.ReadFile(printed.Name())
	control, _, _ = strings.Cut(string(text), "\n") // printed before the server was ready
	return server, control, err
}

// report writes what ran, by package, from a profile of Go's coverage. Blocks of statements are
// its lines.
func report(out io.Writer, profile []byte, files bool) error {
	ran := map[string]map[string]int{} // by package, then by file: its lines
	for line := range bytes.Lines(profile) {
		file, rest, ok := strings.Cut(strings.TrimPrefix(string(line), module), ":")
		if !ok || file == "mode" {
			continue
		}
		var first, column, last, end, statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &first, &column, &last, &end, &statements, &count); err != nil {
			return fmt.Errorf("reading the profile's line %q: %w", line, err)
		}
		if count == 0 {
			continue
		}
		folder := path.Dir(file)
		if ran[folder] == nil {
			ran[folder] = map[string]int{}
		}
		ran[folder][path.Base(file)] += last - first + 1
	}
	total, lines := 0, 0
	for _, folder := range slices.Sorted(maps.Keys(ran)) {
		total += len(ran[folder])
		fmt.Fprintf(out, "%4d  %s\n", len(ran[folder]), folder)
		for _, file := range slices.Sorted(maps.Keys(ran[folder])) {
			lines += ran[folder][file]
			if files {
				fmt.Fprintf(out, "      %5d  %s\n", ran[folder][file], file)
			}
		}
	}
	fmt.Fprintf(out, "%4d  files of %d packages, %d lines in each\n", total, len(ran), lines/max(total, 1))
	return nil
}
