// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

const story = "Tell me a story about a frog."

func TestRun_AnswersOnceAndRepeats(t *testing.T) {
	first := penstock(t, "", "run", story, "--seed", "1", "--temperature", "0")
	if first.code != exitDone || !strings.Contains(first.out, "frog") || !strings.HasSuffix(first.out, "\n") {
		t.Fatalf("run = %+v, want a story about a frog", first)
	}
	if first.err != "loading penstock-tiny\n" {
		t.Errorf("standard error is %q, want progress in plain lines and nothing else", first.err)
	}
	for name, got := range map[string]result{
		"again":      penstock(t, "", "run", "penstock-tiny", story, "--seed", "2", "--temperature", "0"),
		"piped":      penstock(t, story+"\n", "run", "--temperature", "0"),
		"model only": penstock(t, story, "run", "penstock-tiny", "--temperature", "0"),
	} {
		if got != first {
			t.Errorf("%s: %+v, want %+v", name, got, first)
		}
	}
}

func TestRun_Flags(t *testing.T) {
	whole := penstock(t, "", "run", story, "--temperature", "0")
	short := penstock(t, "", "run", story, "--temperature", "0", "--max-tokens", "3")
	cut := strings.TrimSuffix(short.out, "\n")
	if short.code != exitDone || cut == "" || len(cut) >= len(whole.out) || !strings.HasPrefix(whole.out, cut) {
		t.Errorf("with --max-tokens 3: %+v, want a beginning of %q", short, whole.out)
	}
	raw := penstock(t, "", "run", story, "--temperature", "0", "--raw")
	if raw.code != exitDone || raw.out == whole.out {
		t.Errorf("--raw = %+v, want another answer than with the template", raw)
	}
	seed := func(seed string) string {
		return penstock(t, "", "run", story, "--temperature", "2", "--seed", seed, "--max-tokens", "20").out
	}
	first := seed("7")
	if again := seed("7"); again != first {
		t.Errorf("the same seed gave %q, then %q", first, again)
	}
	if other := seed("8"); other == first {
		t.Errorf("two seeds gave the same answer %q at temperature 2", other)
	}
}

// TestRun_Plugin: plugins make the prompt and choose the tokens of a terminal's answer too.
func TestRun_Plugin(t *testing.T) {
	dir := t.TempDir()
	g := asm.New(`{"name":"teller"}`).Put(4096, "Once upon a time")
	for name, wasm := range map[string][]byte{
		"always.wasm": asm.New(`{"name":"always","view":"none"}`).On(abi.ExportSample, asm.I32(300)).Wasm(),
		"teller.wasm": g.On(abi.ExportTemplate, asm.I32(4096), asm.I32(16), g.Call("emit"), asm.I32(0)).Wasm(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), wasm, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(prompt string, args ...string) result {
		return penstock(t, "", append([]string{"run", prompt, "--temperature", "0", "--max-tokens", "6", "--plugin-dir", dir}, args...)...)
	}
	one := run(story, "--plugin", "always", "--max-tokens", "1")
	word := strings.TrimSuffix(one.out, "\n")
	if got := run(story, "--plugin", "always"); got.code != exitDone || word == "" || got.out != strings.Repeat(word, 6)+"\n" {
		t.Errorf("a sampler: %+v, want %q six times", got, word)
	}
	if got, want := run(story, "--plugin", "teller"), run("Once upon a time", "--raw"); got.code != exitDone || got.out != want.out {
		t.Errorf("a template: %+v, want %q", got, want.out)
	}
	if got := run(story, "--plugin", "nonesuch"); got.code != exitFailed || !strings.Contains(got.err, "nonesuch") || got.out != "" {
		t.Errorf("an unknown plugin: %+v", got)
	}
}

func TestRun_FailsOnABadModel(t *testing.T) {
	file := t.TempDir() + "/bad.gguf"
	if err := os.WriteFile(file, []byte("no model"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, file + ".absent.gguf"} {
		got := penstock(t, "", "run", path, "hello")
		if got.code != exitFailed || !strings.Contains(got.err, path) || got.out != "" {
			t.Errorf("run %s = %+v, want exit %d and the path in the error", path, got, exitFailed)
		}
	}
}

// interrupter interrupts this process with each write, and returns from it once the signal has
// come.
type interrupter struct {
	text    strings.Builder
	signals chan os.Signal
	err     error
}

func (w *interrupter) Write(p []byte) (int, error) {
	w.err = errors.Join(w.err, syscall.Kill(os.Getpid(), syscall.SIGINT))
	<-w.signals
	return w.text.Write(p)
}

func TestRun_Interrupted(t *testing.T) {
	whole := penstock(t, "", "run", story, "--temperature", "0")
	out := interrupter{signals: make(chan os.Signal, 1)}
	signal.Notify(out.signals, os.Interrupt)
	defer signal.Stop(out.signals)
	var errOut strings.Builder
	code := execute(t.Context(), []string{"run", story, "--temperature", "0"}, strings.NewReader(""), &out, &errOut)
	if out.err != nil {
		t.Fatal(out.err)
	}
	if code != exitFailed || !strings.Contains(errOut.String(), "interrupted") || out.text.Len() >= len(whole.out) {
		t.Errorf("interrupted: exit %d, error %q, answer %q of %q", code, &errOut, &out.text, whole.out)
	}
}
