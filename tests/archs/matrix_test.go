// SPDX-License-Identifier: MIT

package archs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/tests/peer"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/section"
	"github.com/penstock/penstock/tools/steadytest"
)

// some are one architecture of each kind: dense, with biases and norms of several sorts, with a
// window, soft capping, sinks and ALiBi, experts, compressed keys, recurrent, hybrid, and one that
// is refused.
var some = []string{"llama-dense", "llama-moe", "qwen2-dense", "qwen3-dense", "gemma2-dense", "gemma3-dense", "phi3-dense", "gpt-oss-moe", "bloom-dense",
	"qwen3moe-moe", "deepseek2-moe", "mamba2-dense", "falcon-h1-dense", "lfm2-dense", "dream-dense"}

// Some architectures are compared as all are. What the table in docs/architectures.md says of them
// must be so.
func TestArchitectures_Some(t *testing.T) {
	paths, _ := withOurs(t, synthesize(t, some...), nil)
	if !peer.Live() && !peer.Recording() {
		paths = steadytest.Some(t, paths, 7)
	}
	document := must.Get(os.ReadFile("../../docs/architectures.md"))(t)
	for _, row := range compareAll(t, paths) {
		if !strings.Contains(string(document), row.known()) {
			t.Errorf("docs/architectures.md has no line %q; `make archs` writes it", row.known())
		}
	}
}

// All architectures of which llama.cpp's program writes a model are served like llama-server, or
// refused with a sentence.
func TestArchitectures_All(t *testing.T) {
	if !peer.Live() {
		t.Skip("make test-long and make archs compare all architectures, make test some")
	}
	paths, unwritten := writeModels(t, ".")
	if len(paths) < 100 {
		t.Fatalf("%d models were written", len(paths))
	}
	paths, unwritten = withOurs(t, paths, unwritten)
	rows := compareAll(t, paths)
	if *document != "" && !t.Failed() {
		if err := section.Of("make archs", "").Replace(*document, "\n"+table(rows, unwritten)+"\n"); err != nil {
			t.Error(err)
		}
	}
}

// compareAll compares the models one by one.
func compareAll(t *testing.T, paths []string) (rows []row) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, path := range paths {
		t.Run(nameOf(path), func(t *testing.T) {
			r := compare(t, withBytes(t, path))
			t.Log(r)
			rows = append(rows, r)
		})
	}
	return rows
}

// notText are the architectures that write no text token by token, with what they are.
var notText = map[string]string{"dream": "diffusion", "llada": "diffusion", "llada-moe": "diffusion", "rnd1": "diffusion",
	"qwen3tts": "speech", "pockettts": "speech", "llama-embed": "embedding", "gemma-embedding": "embedding", "bert": "encoder", "t5": "encoder and decoder"}

// workarounds are flags with which llama-server is right where it is wrong without. CogVLM's graph
// gives the logits of a pass's first tokens, whichever were asked for.
var workarounds = map[string][]string{"cogvlm": {"--ubatch-size", "1"}}

// compare tries a model as `penstock serve` does and then serves it in each layout that it can
// have, or sees why it is refused.
func compare(t *testing.T, path string) row {
	file := must.Get(model.Open(t.Context(), path, model.CheckOptions{}))(t)
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	h := header(t, path)
	r := row{name: h.Architecture(), kind: notText[h.Architecture()], lacks: file.Lacks}
	shared, err := serve(t, path, "shared", file.Lacks)
	if r.kind != "" {
		if r.refused = fmt.Sprint(err); !errors.Is(err, engine.ErrNotGenerating) || strings.Contains(r.refused, "\n") {
			t.Errorf("a %s model is refused as: %v", r.kind, err)
		}
		return r
	}
	if err != nil {
		t.Fatal(err)
	}
	r.kind = kindOf(h, shared.Engine.Info())
	if w := workarounds[r.name]; w != nil {
		r.note = "llama-server right only with `" + strings.Join(w, " ") + "`"
	}
	theirs := ofLlamaServer(t, path, prompts(), workarounds[r.name]...)
	r.try(shared, theirs)
	if shared.Engine.Info().OwnCells() {
		split := must.Get(serve(t, path, "split", file.Lacks))(t)
		r.try(split, theirs)
	}
	return r
}

// try compares the answers of a server alone with llama-server's, and those in all situations with
// those alone.
func (r *row) try(s *server, theirs []answer) {
	for _, p := range prompts() {
		s.reference = append(s.reference, s.alone(p))
	}
	r.peer.tolerance, r.own.tolerance = peerTie, ownTie
	if rough[r.name] {
		r.peer.tolerance, r.own.tolerance = roughTie, roughTie
	}
	r.own.tolerance = min(r.own.tolerance, s.heard()/3)
	for i, want := range theirs {
		s.note(fmt.Sprintf("alone, answer %d", i), &r.peer, s.reference[i], want)
	}
	for _, situation := range situations {
		for i, p := range situation.run(s) {
			s.note(fmt.Sprintf("%s, answer %d", situation.name, i), &r.own, p.got, p.want)
		}
	}
	s.Logf("%s cells: moved by %.1e and %.1e of %.1e", s.layout, r.peer.moved, r.own.moved, r.own.tolerance)
}

// heard is what other words at the beginning of a prompt do to log-probabilities. A third of it is
// the most by which others may move, so that a text whose cells are another's shows, also with a
// model that hardly looks back.
func (s *server) heard() float64 {
	s.Helper()
	const prompt = 1
	changed := slices.Clone(prompts()[prompt])
	copy(changed, words(600, len(changed)/3))
	_, moved := difference(s.alone(changed), s.reference[prompt])
	return moved
}

// note compares an answer.
func (s *server) note(what string, c *tally, got, want answer) {
	s.Helper()
	if len(want) != answerLen {
		s.Errorf("%s cells, %s: %d tokens are wanted, not %d", s.layout, what, len(want), answerLen)
	}
	if err := c.compare(got, want); err != nil {
		s.Errorf("%s cells, %s: %v", s.layout, what, err)
	}
}
