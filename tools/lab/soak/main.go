// SPDX-License-Identifier: MIT

// Command soak puts a random mix of what clients and operators do on a Penstock server, and checks
// every answer.
//
// It also compares what the server uses before and after. It starts the real binary as a child
// process, so a crash is seen as what it is. All that its clients do follows from a seed: the same
// seed makes the same choices. The first wrong answer ends the run, with the request, the answer
// and what was expected.
//
// # Why does make soak draw each step's choices anew from its number?
//
// A client that went on with one random sequence would depend on what the server answered and
// when. So a failed step can be told by seed, client and step, and makes the same requests again.
// What runs beside it is still a matter of time.
//
// # Why does make soak not compare resident memory itself?
//
// Go gives free pages back over minutes, so that number says little about a minute of rest. What
// is compared leaves those pages out, and the runtime's books of pages, which stay as large as
// the heap's peak has made them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/penstock/penstock/tools/lab/bench"
	"github.com/penstock/penstock/tools/section"
)

// Exit codes, as those of penstock.
const (
	exitDone = iota
	exitFailed
	exitWrongUse
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are what the flags say.
type options struct {
	penstock, plugins, model string // paths
	document                 string // gets the report; empty: none does
	lasting, warmup          time.Duration
	clients                  int
	seed                     uint64
	only                     string // actors whose names begin so
}

func run(ctx context.Context, args []string, out, problems io.Writer) int {
	o, err := parse(args, problems)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	if err != nil {
		fmt.Fprintln(problems, "soak:", err)
		return exitWrongUse
	}
	if err := soakFor(ctx, o, out); err != nil {
		fmt.Fprintln(problems, "soak:", err)
		return exitFailed
	}
	return exitDone
}

func parse(args []string, problems io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.StringVar(&o.penstock, "penstock", "bin/penstock", "the penstock binary")
	flags.StringVar(&o.plugins, "plugins", "build/plugins", "folder of the example plugins")
	flags.StringVar(&o.model, "model", "host/model/penstock-tiny.gguf", "the model that is served")
	flags.StringVar(&o.document, "document", "", "document whose table of figures is written anew")
	flags.DurationVar(&o.lasting, "for", 15*time.Minute, "how long the load lasts")
	flags.IntVar(&o.clients, "clients", 48, "clients at a time")
	flags.Uint64Var(&o.seed, "seed", 1, "what all choices follow from")
	flags.StringVar(&o.only, "only", "", "only the actors whose names begin so")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected arguments: %s", strings.Join(flags.Args(), " "))
	case o.lasting <= 0:
		return o, fmt.Errorf("-for is %v; it must be above 0", o.lasting)
	case o.clients < 1:
		return o, fmt.Errorf("-clients is %d; there must be one at least", o.clients)
	case len(chosen(o.only)) == 0:
		return o, fmt.Errorf("-only is %q; the actors are %s", o.only, strings.Join(actorNames(), ", "))
	}
	// What is made once is there after this time, and a longer run fills more of it. The archive
	// of conversations is full after two minutes. Each attack has to come, too: what it leaves in
	// C's arenas would be taken for a leak.
	o.warmup = min(max(o.lasting/5, 24*time.Second), 3*time.Minute)
	return o, nil
}

// soakFor runs everything, from the server's start to its end.
func soakFor(ctx context.Context, o options, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "penstock-soak-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, err := prepare(ctx, o, dir)
	if err != nil {
		return err
	}
	defer p.stop()
	s := newSoak(o, p, out)
	defer s.close()
	r, err := s.whole(ctx)
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, p.crashed())
	}
	if err != nil {
		return err
	}
	if err := p.end(); err != nil {
		return err
	}
	fmt.Fprint(out, r.text())
	if err := section.Of("make soak", "").Replace(o.document, "\n"+r.text()+"\n"); err != nil {
		return err
	}
	return r.verdict()
}

// soak is one run.
type soak struct {
	options
	place     *place
	out       io.Writer
	http      *bench.HTTP
	slow      *bench.HTTP // whose connections take little at a time
	questions []question
	ties      int // questions that were left out
	tally     *tally
}

// slowBuffer is what a slow reader's connection takes before it is read, in bytes.
const slowBuffer = 32 << 10

func newSoak(o options, p *place, out io.Writer) *soak {
	return &soak{options: o, place: p, out: out, http: bench.NewHTTP(p.URL), slow: bench.NewSlowHTTP(p.URL, slowBuffer), tally: newTally()}
}

func (s *soak) close() {
	s.http.Close()
	s.slow.Close()
}

// whole learns the answers, puts the load on twice, first to have all made that is made once, and
// reports the second time.
func (s *soak) whole(ctx context.Context) (*report, error) {
	if err := s.learn(ctx); err != nil {
		return nil, err
	}
	if _, err := s.load(ctx, s.warmup, 0); err != nil {
		return nil, err
	}
	before, err := s.settle(ctx, nil)
	if err != nil {
		return nil, err
	}
	s.tally = newTally()
	began := time.Now()
	peak, err := s.load(ctx, s.lasting, 1)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	after, err := s.settle(ctx, &before)
	if err != nil {
		return nil, err
	}
	return &report{soak: s, before: before, peak: peak, after: after, took: took}, nil
}

// patience is how long a step of a client may take, which is some requests at most.
const patience = 2 * time.Minute

// load has all clients take step after step for a while. It returns the most that was used
// meanwhile.
func (s *soak) load(ctx context.Context, lasting time.Duration, round uint64) (resources, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	over := time.Now().Add(lasting)
	actors := chosen(s.only)
	var group sync.WaitGroup
	for client := range s.clients {
		group.Go(func() {
			for step := uint64(0); time.Now().Before(over) && ctx.Err() == nil; step++ {
				// A step's choices follow from its number and not from what came before, which
				// time has a part in.
				rng := rand.New(rand.NewPCG(s.seed, round<<56|uint64(client)<<32|step))
				a := draw(actors, rng)
				if err := s.take(ctx, a, rng); err != nil {
					fail(fmt.Errorf("seed %d, client %d, step %d, %s: %w", s.seed, client, step, a.name, err))
				}
			}
		})
	}
	peak := s.watch(ctx, &group)
	if cause := context.Cause(ctx); cause != nil {
		return peak, cause
	}
	return peak, nil
}

// take takes a step of an actor.
func (s *soak) take(ctx context.Context, a actor, rng *rand.Rand) error {
	ctx, done := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it was not over within %v", patience))
	defer done()
	err := a.act(ctx, s, rng)
	if err != nil && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

// say prints a line of progress.
func (s *soak) say(format string, values ...any) { fmt.Fprintf(s.out, format+"\n", values...) }

// get is a request without a body.
func get(path, key string) bench.Call {
	return bench.Call{Method: http.MethodGet, Path: path, Key: key}
}

// post is a request with a body, which becomes JSON.
func post(path, key string, body any) bench.Call {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // bodies are maps of plain values
	}
	return bench.Call{Method: http.MethodPost, Path: path, Key: key, Body: data}
}

// wrong is an answer that should not be.
type wrong struct{ asked, got, want string }

func (w *wrong) Error() string {
	return fmt.Sprintf("a wrong answer\n  request: %s\n  answer:  %s\n  wanted:  %s", w.asked, w.got, w.want)
}

// send sends a request and reads the answer to its end.
func (s *soak) send(ctx context.Context, c bench.Call) (bench.Answer, error) {
	a, err := s.http.Send(ctx, c)
	if err != nil {
		err = fmt.Errorf("%s: %w", c, err)
	}
	return a, err
}

// expect sends a request whose answer must have one of the statuses, and counts it. An answer that
// the server was too busy for is no wrong one; ok is false then.
func (s *soak) expect(ctx context.Context, kind string, c bench.Call, statuses ...int) (a bench.Answer, ok bool, err error) {
	if a, err = s.send(ctx, c); err != nil {
		return a, false, err
	}
	if end, full := busy(a); full {
		s.tally.add(kind, end)
		return a, false, nil
	}
	for _, status := range statuses {
		if a.Status == status {
			s.tally.add(kind, fmt.Sprint(status))
			return a, true, nil
		}
	}
	return a, false, &wrong{c.String(), a.String(), "the status " + strings.Trim(fmt.Sprint(statuses), "[]")}
}

// busy tells how a request ended that the server had no room for, which it says with a word or, to
// Ollama's clients, in a sentence.
func busy(a bench.Answer) (end string, ok bool) {
	text := string(a.Body)
	switch {
	case a.Status == http.StatusTooManyRequests && (strings.Contains(text, "queue_full") || strings.Contains(text, "try again in a moment")):
		return "429 queue full", true
	case a.Status == http.StatusServiceUnavailable && (strings.Contains(text, "plugins_busy") || strings.Contains(text, "plugins.memory")):
		return "503 plugins busy", true
	case a.Status == http.StatusServiceUnavailable && strings.Contains(text, "bodies_too_large"):
		return "503 bodies too large", true
	case a.Status == http.StatusServiceUnavailable && strings.Contains(text, `"busy"`):
		return "503 compiling others", true
	case a.Status == http.StatusUnprocessableEntity && strings.Contains(text, "longer than an upload may"):
		return "422 no time to load it", true
	}
	return "", false
}
