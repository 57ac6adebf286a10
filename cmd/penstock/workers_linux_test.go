// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// workerRoom is how much more memory a worker may allocate than it needs without a model. The
// model's weights are 206 MB. With half of them a worker takes 160 MB, so there are 20 MB on each
// side for what differs from run to run: some MB of stacks and buffers.
const workerRoom = 180_000_000

// TestWorkers_ModelNoneHoldsAlone serves a model from two workers, over mutual TLS, of which each
// is allowed less memory than it takes. Its answers are those of the model on one machine. Then a
// worker is killed in the middle of an answer, started again, and so on: 20 times with
// PENSTOCK_TEST_LONG=1 (make workers-test), twice without.
func TestWorkers_ModelNoneHoldsAlone(t *testing.T) {
	losses := steadytest.InLongTest(20, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	path := writeWide(t)
	// As workers compute: with ggml's kernels, on weights as they are in the file.
	model := []string{"--model", path, "--ctx-size", "1024", "--parallel", "2", "--kernels", "ggml", "--no-repack"}
	whole := startServer(ctx, t, model...)
	want := greedyText(ctx, t, whole.url)
	whole.stop(t)

	ca := newAuthority(t)
	asWorker := ca.flags(t, "worker")
	unlimited := startWorker(t, 0, "--listen", "127.0.0.1:0")
	workerLimit := dataOf(t, unlimited.cmd.Process.Pid) + workerRoom
	unlimited.kill()
	workers := make([]*workerProcess, 2)
	for i := range workers {
		workers[i] = startWorker(t, workerLimit, append(asWorker, "--listen", "127.0.0.1:0")...)
	}
	one := append(ca.flags(t, "host"), append(model, "--rpc", workers[0].address)...)
	both := append(ca.flags(t, "host"), append(model, "--rpc", workers[0].address+","+workers[1].address)...)

	if text := refusal(ctx, t, append(one, "--gpu-layers", "99")...); !strings.Contains(text, "unable to allocate") {
		t.Errorf("one worker alone: %s", text)
	}

	s := startServer(ctx, t, both...)
	if got := greedyText(ctx, t, s.url); got != want {
		t.Errorf("with workers the answer is %q, without %q", got, want)
	}
	var worst time.Duration
	for n := range losses {
		lost := workers[n%2]
		text := interrupted(ctx, t, s.url, lost.kill)
		if !strings.Contains(text, "the worker "+lost.address+" was lost") {
			t.Errorf("loss %d: the answer does not say why it ended: %s", n+1, text[max(0, len(text)-400):])
		}
		workers[n%2] = startWorker(t, workerLimit, append(asWorker, "--listen", lost.address)...)
		back := time.Now()
		if got := greedyText(ctx, t, s.url); got != want {
			t.Errorf("loss %d: the answer is %q, without workers %q", n+1, got, want)
		}
		worst = max(worst, time.Since(back))
		if t.Failed() {
			t.Fatalf("%s", &s.log)
		}
	}
	s.stop(t)
	t.Logf("%d answers ended with an error that names the worker; the next was there at most %v after the worker was back", losses, worst.Round(time.Millisecond))
}

// TestWorkers_CellsOfTheirOwn has a worker compute four choices to one prompt, where each has cells
// of its own: the worker copies those of the prompt, and each choice continues as on one machine.
func TestWorkers_CellsOfTheirOwn(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const prompt = "Once upon a time there was a frog named Ivy. Ivy lived near the garden. One day Ivy wanted a pink shell more than anything. " +
		"Ivy worked hard every day, and Kim helped. After three days the shell was ready."
	choices := func(flags ...string) (texts []string) {
		s := startServer(ctx, t, append([]string{"--model", "../../host/model/penstock-tiny.gguf", "--ctx-size", "4096", "--parallel", "4",
			"--kv-layout", "split", "--kernels", "ggml", "--no-repack", "--threads", "1"}, flags...)...)
		defer s.stop(t)
		var answer struct {
			Choices []struct{ Text string }
		}
		(&client{url: s.url}).ask(t, http.MethodPost, "/v1/completions", fmt.Sprintf(`{"prompt":%q,"n":4,"temperature":0,"max_tokens":24,"ignore_eos":true}`, prompt), &answer)
		for _, c := range answer.Choices {
			texts = append(texts, c.Text)
		}
		return texts
	}
	want := choices()
	w := startWorker(t, 0, "--listen", "127.0.0.1:0")
	if got := choices("--rpc", w.address); len(want) != 4 || want[0] == "" || !slices.Equal(got, want) {
		t.Errorf("with a worker the choices are %q, without %q", got, want)
	}
}

// writeWide writes a model with random weights of 200 MB, once for all tests.
func writeWide(t testing.TB) string {
	t.Helper()
	return must.Get(wide())(t)
}

// wide is in HOME, which TestMain makes and removes.
var wide = sync.OnceValues(func() (string, error) {
	path := filepath.Join(os.Getenv("HOME"), "wide.gguf")
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	shape := synth.Shape{Name: "wide", Dim: 1024, Layers: 16, Heads: 16, KVHeads: 4, FFN: 3072, Context: 2048}
	buffered := bufio.NewWriterSize(file, 1<<20)
	err = synth.Write(buffered, shape, "../../host/model/penstock-tiny.gguf", synth.Q80, 1)
	return path, errors.Join(err, buffered.Flush(), file.Close())
})

// dataOf is how much memory a process has allocated, as the limit of limitMemory counts it.
func dataOf(t testing.TB, pid int) uint64 {
	t.Helper()
	status := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	_, line, _ := strings.Cut(string(status), "VmData:")
	kib := must.Get(strconv.ParseUint(strings.Fields(line)[0], 10, 64))(t)
	return kib << 10
}

// refusal is why a server does not start.
func refusal(ctx context.Context, t testing.TB, args ...string) string {
	t.Helper()
	cmd := child(ctx, t, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("%v ended with %v, want exit %d", args, err, exitFailed)
	}
	return string(out)
}

// greedyText is an answer that is the same each time.
func greedyText(ctx context.Context, t testing.TB, url string) string {
	t.Helper()
	var answer struct{ Content string }
	response := post(ctx, t, url+"/completion", `{"prompt":"`+story+`","temperature":0,"n_predict":8,"ignore_eos":true}`)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil || answer.Content == "" {
		t.Fatalf("%d, %v: %s", response.StatusCode, err, text)
	}
	return answer.Content
}

// interrupted is what is left of an answer in whose middle something happens.
func interrupted(ctx context.Context, t *testing.T, url string, happen func()) string {
	t.Helper()
	response := post(ctx, t, url+"/completion", `{"prompt":"`+story+`","n_predict":900,"ignore_eos":true,"stream":true}`)
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReader(response.Body)
	for range 6 { // three tokens
		if line, err := lines.ReadString('\n'); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
	}
	happen()
	rest := must.Get(io.ReadAll(lines))(t)
	return string(rest)
}

// BenchmarkWorkers measures a token of one answer: on this machine alone, as a worker would
// compute it, and with workers. They are on this machine, too, so what is left out is the
// network's own time.
func BenchmarkWorkers(b *testing.B) {
	ca := newAuthority(b)
	worker, host := ca.flags(b, "worker"), ca.flags(b, "host")
	for _, m := range []struct{ name, path string }{{"tiny", "../../host/model/penstock-tiny.gguf"}, {"200MB", writeWide(b)}} {
		model := []string{"--model", m.path, "--ctx-size", "1024", "--parallel", "1", "--kernels", "ggml", "--no-repack", "--load-mode", "none"}
		for _, c := range []struct {
			name    string
			secured bool
			workers int
		}{{"here", false, 0}, {"one-worker-plain", false, 1}, {"one-worker", true, 1}, {"two-workers", true, 2}} {
			b.Run(m.name+"/"+c.name, func(b *testing.B) {
				args, listen := model, []string{"--listen", "127.0.0.1:0"}
				if c.secured {
					args, listen = append(host, args...), append(worker, listen...)
				}
				addresses := ""
				for i := range c.workers {
					if i > 0 {
						addresses += ","
					}
					addresses += startWorker(b, 0, listen...).address
				}
				if c.workers > 0 {
					args = append(args, "--rpc", addresses)
				}
				s := startServer(b.Context(), b, args...)
				greedyText(b.Context(), b, s.url)
				total := 0.0
				for b.Loop() {
					total += timePerToken(b, s.url)
				}
				b.ReportMetric(total/float64(b.N), "ms/token")
				s.stop(b)
			})
		}
	}
}

// timePerToken is how many milliseconds a token of an answer of 100 tokens takes.
func timePerToken(b *testing.B, url string) float64 {
	b.Helper()
	response := post(b.Context(), b, url+"/completion", `{"prompt":"`+story+`","temperature":0,"n_predict":100,"ignore_eos":true}`)
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Timings struct {
			PerToken float64 `json:"predicted_per_token_ms"`
		}
	}
	text, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil || answer.Timings.PerToken == 0 {
		b.Fatalf("%v: %s", err, text)
	}
	return answer.Timings.PerToken
}
