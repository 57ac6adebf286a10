// SPDX-License-Identifier: MIT

package native

import (
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func TestSetLogger_LinesWithLevels(t *testing.T) {
	t.Cleanup(func() { SetLogger(slog.New(slog.DiscardHandler)) })
	for level, want := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		var out lines
		SetLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})))
		loadBuiltIn(t, ModelOptions{})
		text := out.text.String()
		if got := strings.Contains(text, "level=DEBUG") && strings.Contains(text, "source=llama.cpp") && strings.Contains(text, "general.name"); got != want {
			t.Errorf("at level %v: %q", level, text)
		}
		for line := range strings.Lines(text) {
			if strings.Contains(line, `msg=""`) || strings.Contains(line, `\n`) || strings.Contains(line, `msg=.`) {
				t.Errorf("not a whole line: %s", line)
			}
		}
	}
}

// GPU backends log while llama.cpp starts, before a logger could be set: that must not crash, and
// no line may be lost.
func TestSetLogger_LinesBefore_ComeLater(t *testing.T) {
	logger.Store(nil)
	early.lines = nil
	t.Cleanup(func() { SetLogger(slog.New(slog.DiscardHandler)) })
	logged(4, "no device was found")
	logged(2, "one device was found")
	for range 2 * maxEarlyLines {
		logged(1, "chatter")
	}
	var out lines
	SetLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	text := out.text.String()
	if !strings.HasPrefix(text, "time=") || !strings.Contains(text, `level=ERROR msg="no device was found" source=llama.cpp`) ||
		!strings.Contains(text, `level=DEBUG msg="one device was found"`) {
		t.Errorf("the logger got %q", text)
	}
	if n := strings.Count(text, "\n"); n != maxEarlyLines {
		t.Errorf("%d lines were kept, want %d", n, maxEarlyLines)
	}
	var second lines
	SetLogger(slog.New(slog.NewTextHandler(&second, nil)))
	if text := second.text.String(); text != "" {
		t.Errorf("the next logger got %q again", text)
	}
}

// llama.cpp v0.5.0 on a 64-bit machine. A difference after a version bump means: look at what
// changed in llama.h, see whether the shim is still right, then record the new value.
var recorded = map[string]int64{
	"GGML_BACKEND_DEVICE_TYPE_CPU":                  0,
	"GGML_BACKEND_DEVICE_TYPE_GPU":                  1,
	"GGML_LOG_LEVEL_CONT":                           5,
	"GGML_LOG_LEVEL_DEBUG":                          1,
	"GGML_LOG_LEVEL_ERROR":                          4,
	"GGML_LOG_LEVEL_INFO":                           2,
	"GGML_LOG_LEVEL_WARN":                           3,
	"GGML_MAX_N_THREADS":                            512,
	"GGML_TYPE_BF16":                                30,
	"GGML_TYPE_F16":                                 1,
	"GGML_TYPE_F32":                                 0,
	"GGML_TYPE_IQ4_NL":                              20,
	"GGML_TYPE_Q4_0":                                2,
	"GGML_TYPE_Q4_1":                                3,
	"GGML_TYPE_Q5_0":                                6,
	"GGML_TYPE_Q5_1":                                7,
	"GGML_TYPE_Q8_0":                                8,
	"LLAMA_DEFAULT_SEED":                            4294967295,
	"LLAMA_FLASH_ATTN_TYPE_AUTO":                    -1,
	"LLAMA_FLASH_ATTN_TYPE_DISABLED":                0,
	"LLAMA_FLASH_ATTN_TYPE_ENABLED":                 1,
	"LLAMA_LOAD_MODE_MLOCK":                         2,
	"LLAMA_LOAD_MODE_MMAP":                          1,
	"LLAMA_LOAD_MODE_MMAP_MLOCK":                    3,
	"LLAMA_LOAD_MODE_NONE":                          0,
	"LLAMA_TOKEN_ATTR_BYTE":                         32,
	"LLAMA_TOKEN_ATTR_CONTROL":                      8,
	"LLAMA_TOKEN_ATTR_NORMAL":                       4,
	"LLAMA_TOKEN_ATTR_UNKNOWN":                      1,
	"LLAMA_TOKEN_ATTR_UNUSED":                       2,
	"LLAMA_TOKEN_ATTR_USER_DEFINED":                 16,
	"LLAMA_TOKEN_NULL":                              -1,
	"LLAMA_VOCAB_TYPE_NONE":                         0,
	"LLAMA_VOCAB_TYPE_WPM":                          3,
	"offsetof ggml_threadpool_params.n_threads":     512,
	"offsetof ggml_threadpool_params.poll":          520,
	"offsetof llama_batch.embd":                     16,
	"offsetof llama_batch.logits":                   48,
	"offsetof llama_batch.n_seq_id":                 32,
	"offsetof llama_batch.n_tokens":                 0,
	"offsetof llama_batch.pos":                      24,
	"offsetof llama_batch.seq_id":                   40,
	"offsetof llama_batch.token":                    8,
	"offsetof llama_context_params.abort_callback":  112,
	"offsetof llama_context_params.flash_attn_type": 52,
	"offsetof llama_context_params.kv_unified":      133,
	"offsetof llama_context_params.n_batch":         4,
	"offsetof llama_context_params.n_ctx":           0,
	"offsetof llama_context_params.n_outputs_max":   20,
	"offsetof llama_context_params.n_seq_max":       12,
	"offsetof llama_context_params.n_threads":       28,
	"offsetof llama_context_params.n_ubatch":        8,
	"offsetof llama_context_params.no_perf":         130,
	"offsetof llama_context_params.swa_full":        132,
	"offsetof llama_context_params.type_k":          104,
	"offsetof llama_model_params.check_tensors":     73,
	"offsetof llama_model_params.load_mode":         24,
	"offsetof llama_model_params.n_gpu_layers":      16,
	"offsetof llama_model_params.progress_callback": 48,
	"offsetof llama_model_params.vocab_only":        72,
	"offsetof llama_token_data.id":                  0,
	"offsetof llama_token_data.logit":               4,
	"offsetof llama_token_data.p":                   8,
	"offsetof llama_token_data_array.data":          0,
	"offsetof llama_token_data_array.selected":      16,
	"offsetof llama_token_data_array.size":          8,
	"offsetof llama_token_data_array.sorted":        24,
	"sizeof bool":                                   1,
	"sizeof ggml_threadpool_params":                 528,
	"sizeof llama_batch":                            56,
	"sizeof llama_context_params":                   160,
	"sizeof llama_logit_bias":                       8,
	"sizeof llama_model_params":                     80,
	"sizeof llama_pos":                              4,
	"sizeof llama_seq_id":                           4,
	"sizeof llama_token":                            4,
	"sizeof llama_token_data":                       12,
	"sizeof llama_token_data_array":                 32,
}

func TestLlamaLayout_AsRecorded(t *testing.T) {
	if diff := cmp.Diff(recorded, llamaLayout()); diff != "" {
		t.Errorf("llama.h is not what the shim was written for (-recorded +compiled):\n%s", diff)
	}
}

func TestChooseLevel(t *testing.T) {
	all := []string{"x86-64", "avx2", "amx"}
	for _, c := range []struct {
		name    string
		all     []string
		offered int // of all
		forced  string
		failing []string
		want    string
		failed  []string
		err     string
	}{
		{name: "the highest offered", all: all, offered: 2, want: "avx2"},
		{name: "the next lower", all: all, offered: 3, failing: []string{"amx"}, want: "avx2", failed: []string{"amx"}},
		{name: "the lowest, whatever it does", all: all, offered: 3, failing: all, want: "x86-64", failed: []string{"amx", "avx2"}},
		{name: "forced, without a trial", all: all, offered: 3, forced: "avx2", failing: all, want: "avx2"},
		{name: "one that the CPU lacks", all: all, offered: 2, forced: "amx", err: `is "amx", and this CPU has only x86-64, avx2:`},
		{name: "none of this build", all: all, offered: 3, forced: "avx3", err: `is "avx3", and this program has only x86-64, avx2, amx:`},
		{name: "a build for one CPU"},
		{name: "forced in a build for one CPU", forced: "avx2", err: "built for one CPU only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			works := func(level string) bool { return !slices.Contains(c.failing, level) }
			got, err := chooseLevel(c.all, c.all[:c.offered], c.forced, works)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("the error is %v, want %q", err, c.err)
			}
			if got.Used != c.want || !slices.Equal(got.Failed, c.failed) || got.Forced != (err == nil && c.forced != "") {
				t.Errorf("got %+v, want %q and %q failed", got, c.want, c.failed)
			}
		})
	}
}

// A level is tried in a child, whose crash ends nothing else and prints nothing.
func TestTryLevel(t *testing.T) {
	if !tryLevel(currentLevel, false) {
		t.Error("what is in use does not work")
	}
	if tryLevel(currentLevel, true) {
		t.Error("a crash is no failure")
	}
}

// A thread that computes all the time takes a processor's time.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		cores      int
		processors float64
		want       int
	}{{8, math.Inf(1), 8}, {8, 2, 2}, {8, 1.5, 1}, {8, 3.99, 3}, {2, 64, 2}, {4, 0.25, 1}} {
		if got := within(c.cores, c.processors); got != c.want {
			t.Errorf("%d cores, time of %v processors: %d, want %d", c.cores, c.processors, got, c.want)
		}
	}
}
