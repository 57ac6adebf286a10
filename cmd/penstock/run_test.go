// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	local "github.com/penstock/penstock"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
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
		must.Do(t, os.WriteFile(filepath.Join(dir, name), wasm, 0o600))
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
	must.Do(t, os.WriteFile(file, []byte("no model"), 0o600))
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

// pngFile draws stripes of a colour into a file and returns its path.
func pngFile(t *testing.T, name string, c color.RGBA) string {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 60, 40))
	for x := range 60 {
		for y := range 40 {
			if (x/8+y/5)%2 == 0 {
				picture.SetRGBA(x, y, c)
			}
		}
	}
	var b bytes.Buffer
	must.Do(t, png.Encode(&b, picture))
	return inFolder(t, name, b.Bytes())
}

// wavFile writes a second of sound into a file and returns its path.
func wavFile(t *testing.T, name string, period int) string {
	t.Helper()
	samples := make([]int16, 16000)
	for i := range samples {
		samples[i] = int16(i % period * 20000 / period)
	}
	b := bytes.NewBufferString("RIFF")
	le := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(b, binary.LittleEndian, v) // into memory
		}
	}
	le(uint32(36 + 2*len(samples)))
	b.WriteString("WAVEfmt ")
	le(uint32(16), uint16(1), uint16(1), uint32(16000), uint32(32000), uint16(2), uint16(16))
	b.WriteString("data")
	le(uint32(2*len(samples)), samples)
	return inFolder(t, name, b.Bytes())
}

func inFolder(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, data, 0o600))
	return path
}

// Answers in the terminal depend on the files, and on their order.
func TestRun_Media(t *testing.T) {
	both, _ := must.Both(synth.MediaPairs[8].WriteFiles(t.TempDir(), 1))(t)
	red, blue := pngFile(t, "red.png", color.RGBA{255, 0, 0, 255}), pngFile(t, "blue.png", color.RGBA{0, 0, 255, 255})
	hum := wavFile(t, "hum.wav", 97)
	seen := map[string]string{}
	for name, files := range map[string][]string{
		"none": nil, "red": {"--image", red}, "blue": {"--image", blue}, "red, blue": {"--image", red, "--image", blue}, "blue, red": {"--image", blue, "--image", red},
		"hum": {"--audio", hum}, "red, hum": {"--image", red, "--audio", hum},
	} {
		args := append([]string{"run", both, "What is it?", "--ctx-size", "2048", "--temperature", "0", "--max-tokens", "16"}, files...)
		got := penstock(t, "", args...)
		if got.code != exitDone || len(got.out) < 5 {
			t.Errorf("%s: %+v", name, got)
		}
		for other, text := range seen {
			if text == got.out {
				t.Errorf("%s and %s: %q", name, other, text)
			}
		}
		seen[name] = got.out
		if name != "red, hum" { // which has both
			continue
		}
		if again := penstock(t, "", args...); again != got {
			t.Errorf("%s: %+v, then %+v", name, got, again)
		}
	}
}

func TestRun_Media_Refusals(t *testing.T) {
	sees, _ := must.Both(synth.MediaPairs[2].WriteFiles(t.TempDir(), 1))(t)
	red, notes, hum := pngFile(t, "red.png", color.RGBA{255, 0, 0, 255}), inFolder(t, "notes.txt", []byte("hello")), wavFile(t, "hum.wav", 97)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"absent":          {[]string{sees, "hi", "--image", red + ".absent"}, "--image: stat " + red + ".absent"},
		"a folder":        {[]string{sees, "hi", "--image", t.TempDir()}, "is no file"},
		"empty":           {[]string{sees, "hi", "--image", inFolder(t, "empty.png", nil)}, "is empty"},
		"no picture":      {[]string{sees, "hi", "--image", notes}, "--image " + notes + " is no file of a kind that is read here"},
		"a sound":         {[]string{sees, "hi", "--audio", hum}, "--audio " + hum + " is a sound, and the model"},
		"text only":       {[]string{"penstock-tiny", "hi", "--image", red}, "reads text only"},
		"without wrapper": {[]string{sees, "hi", "--raw", "--image", red}, "--raw gives the model a text alone"},
	} {
		got := penstock(t, "", append(append([]string{"run"}, c.args...), "--ctx-size", "2048", "--max-tokens", "2")...)
		if got.code == exitDone || got.out != "" || !strings.Contains(got.err, c.says) {
			t.Errorf("%s: %+v, want %q", name, got, c.says)
		}
	}
}

// script feeds lines to a REPL, then the end.
func script(lines ...string) func() (string, error) {
	return func() (string, error) {
		if len(lines) == 0 {
			return "", io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}
}

func TestREPL_Run_KeepsTheConversation(t *testing.T) {
	var asked [][]string
	var out, notes strings.Builder
	r := repl{
		readLine: script("one", "", "two", "stop", "bad", "last"),
		files:    []local.Media{{Name: "a picture"}},
		out:      &out,
		notes:    &notes,
		answer: func(_ context.Context, messages []local.Message, show func(string) error) (string, error) {
			var turns []string
			for _, m := range messages {
				turns = append(turns, m.Role+": "+strings.Repeat("(a picture) ", len(m.Media))+m.Content)
			}
			asked = append(asked, turns)
			last := messages[len(messages)-1].Content
			switch last {
			case "bad":
				return "", errors.New("no such thing")
			case "stop":
				return "half", errors.Join(context.Canceled, show("half"))
			}
			return "re " + last, show("re " + last)
		},
	}
	must.Do(t, r.run(t.Context()))
	want := [][]string{
		{"user: (a picture) one"},
		{"user: (a picture) one", "assistant: re one", "user: two"},
		{"user: (a picture) one", "assistant: re one", "user: two", "assistant: re two", "user: stop"},
		{"user: (a picture) one", "assistant: re one", "user: two", "assistant: re two", "user: stop", "assistant: half", "user: bad"},
		{"user: (a picture) one", "assistant: re one", "user: two", "assistant: re two", "user: stop", "assistant: half", "user: last"},
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("conversations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("re one\nre two\nhalf\n\nre last\n", out.String()); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("(stopped)\npenstock: no such thing\n", notes.String()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestREPL_Run_InterruptEndsTheAnswerOnly(t *testing.T) {
	interrupts := make(chan os.Signal, 1)
	var notes strings.Builder
	answers := 0
	r := repl{
		readLine: script("one", "two"), interrupts: interrupts, out: io.Discard, notes: &notes,
		answer: func(ctx context.Context, _ []local.Message, _ func(string) error) (string, error) {
			answers++
			interrupts <- os.Interrupt
			<-ctx.Done()
			return "", ctx.Err()
		},
	}
	must.Do(t, r.run(t.Context()))
	if answers != 2 || notes.String() != "(stopped)\n(stopped)\n" {
		t.Errorf("%d answers, notes %q; want 2, both stopped", answers, &notes)
	}
}

func TestREPL_Run_BrokenTerminal(t *testing.T) {
	broken := errors.New("gone")
	r := repl{readLine: func() (string, error) { return "", broken }}
	if err := r.run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("run = %v, want %v", err, broken)
	}
}
