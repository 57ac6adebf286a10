// SPDX-License-Identifier: MIT

package model

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

func TestRunExercises_BuiltIn_LacksNothing(t *testing.T) {
	var stages []string
	lacks, err := runExercises(loaded(t), options{}, nil, func(stage string) { stages = append(stages, stage) })
	if err != nil || len(lacks) > 0 {
		t.Errorf("%v, %v", lacks, err)
	}
	each := []string{"", Selecting, Together, Truncating, Sharing, Saving}
	if diff := cmp.Diff(slices.Concat(each, each), stages); diff != "" {
		t.Errorf("in cells of their own and in shared ones (-want +got):\n%s", diff)
	}
}

// A head that llama.cpp does not compute is not loaded a second time.
func TestRunExercises_NoHead_LacksIt(t *testing.T) {
	lacks, err := runExercises(loaded(t), options{Loading: native.ModelOptions{LoadMTP: true}}, nil, func(string) {})
	if err != nil || len(lacks) != 1 || !lacks.Has(Heads) {
		t.Errorf("%v, %v", lacks, err)
	}
}

// Heads in files of their own are tried with the longest guesses: that of deep layers and long
// blocks has llama.cpp end the process, and the model is served without it. So it is where a head
// gives what are no numbers.
func TestCheck_HeadsInFiles_AreTriedToTheirEnd(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "dspark")
	for head, of := range map[string]string{"dspark": "qwen3", "dspark-deep": "qwen3", "damaged": "qwen3", "dflash": "qwen3", "eagle3": "qwen3", "gemma4-assistant": "gemma4"} {
		o := CheckOptions{CacheDir: t.TempDir()}
		o.Loading.LoadMTP, o.Loading.Head = true, filepath.Join(dir, head)
		path := filepath.Join(dir, of)
		must.Do(t, synth.SmallFile(path, of, 1))
		if head == "damaged" {
			var b bytes.Buffer
			must.Do(t, errors.Join(synth.SmallFile(whole, "dspark", 1), synth.Edit(&b, whole, func(h *gguf.Header) { h.Set("dflash.attention.scale", gguf.NewFloat32(float32(math.Inf(1)))) })))
			must.Do(t, os.WriteFile(o.Loading.Head, b.Bytes(), 0o600))
		} else {
			must.Do(t, synth.SmallFile(o.Loading.Head, head, 1))
		}
		if lacks, err := Check(t.Context(), path, o); err != nil || lacks.Has(Heads) != (head == "dspark-deep" || head == "damaged") {
			t.Errorf("%s: %v, %v", head, lacks, err)
		}
	}
}

func TestRunExercises_KnownLack_IsNotTriedAgain(t *testing.T) {
	known := Lacks{{Together, "it crashed"}, {Selecting, "it gave others"}}
	lacks, err := runExercises(loaded(t), options{}, known, func(stage string) {
		if known.Has(stage) {
			t.Errorf("%s was tried", stage)
		}
	})
	if err != nil || !slices.Equal(lacks, known) {
		t.Errorf("%v, %v", lacks, err)
	}
}

// A model that computes something else than alone lacks what it was doing.
func TestModelTrial_OtherLogits_AreAnError(t *testing.T) {
	plain, headed := loaded(t), loadedHead(t)
	for _, e := range exercises {
		t.Run(e.name, func(t *testing.T) {
			m := plain
			if e.name == Heads {
				m = headed
			}
			for _, unified := range []bool{false, true} {
				tr := modelTrial{model: m, unified: unified}
				run := func(exercise func(*modelTrial) error) error {
					return must.Get(tr.run(exercise))(t)
				}
				must.Do(t, run((*modelTrial).eachAlone))
				if err := run(e.run); err != nil {
					t.Errorf("before: %v", err)
				}
				slices.Reverse(tr.alone[0][promptLen+1]) // which every exercise computes
				if err := run(e.run); err == nil || !strings.Contains(err.Error(), "token 9") {
					t.Errorf("logits in reverse order: %v", err)
				}
			}
		})
	}
}

func loaded(t *testing.T) *native.Model {
	t.Helper()
	return loadedFrom(t, store(t, "m.gguf", builtIn))
}

// loadedHead is a random model with a head.
func loadedHead(t *testing.T) *native.Model {
	t.Helper()
	var file bytes.Buffer
	s := synth.Shape{Name: "small", Dim: 64, Layers: 2, Heads: 2, KVHeads: 1, FFN: 64, Context: 256, Head: true}
	must.Do(t, synth.Write(&file, s, store(t, "m.gguf", builtIn), synth.Q40, 1))
	return loadedFrom(t, store(t, "headed.gguf", file.Bytes()))
}

func loadedFrom(t *testing.T, path string) *native.Model {
	t.Helper()
	m := must.Get(native.LoadModel(t.Context(), path, native.ModelOptions{LoadMTP: true}))(t)
	must.Close(t, m)
	return m
}

func TestDeviation(t *testing.T) {
	a := []float32{1, -2, 3, 0.5}
	for name, c := range map[string]struct {
		b    []float32
		want float64
	}{
		"equal":      {a, 0},
		"all at 0":   {[]float32{0.625, 0.625, 0.625, 0.625}, 1},
		"one differ": {[]float32{1, -2, 3, 1.5}, 1 / 12.6875},
	} {
		if got := deviation(a, c.b); got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}

// A child that dies in an exercise is followed by one that leaves it out.
func TestTryInChildren_CrashInAnExercise_IsALack(t *testing.T) {
	t.Setenv(misbehaviourEnv, "abort together")
	lacks, err := tryInChildren(t.Context(), "x", Template{}, options{}, CheckOptions{Timeout: time.Minute})
	if err != nil || len(lacks) != 1 || lacks[0].What != Together || !strings.Contains(lacks[0].Why, "ggml.c:1: GGML_ASSERT(few) failed") {
		t.Errorf("%v, %v", lacks, err)
	}
}

// One that dies outside of them ends the trial.
func TestTryInChildren_CrashElsewhere_IsAnError(t *testing.T) {
	t.Setenv(misbehaviourEnv, "abort alone")
	if lacks, err := tryInChildren(t.Context(), "x", Template{}, options{}, CheckOptions{Timeout: time.Minute}); !errors.Is(err, ErrCrashed) {
		t.Errorf("%v, %v", lacks, err)
	}
}

func TestTrialNote_KeepsLacks(t *testing.T) {
	note := trialNote(filepath.Join(t.TempDir(), "verdicts", "v"))
	if _, known := note.read(); known {
		t.Error("known before it was tried")
	}
	want := Lacks{{Together, "because"}}
	note.write("m.gguf", want)
	if got, known := note.read(); !known || !slices.Equal(got, want) {
		t.Errorf("%v, %t", got, known)
	}
	must.Do(t, os.WriteFile(string(note), []byte("{"), 0o600))
	if _, known := note.read(); known {
		t.Error("a damaged note counts")
	}
}

func TestRunEmbeddingExercises_EachKindOfModel(t *testing.T) {
	for kind, want := range map[string][]string{"bert": {Embedding}, "embedder": {Embedding}, "mamba": {Embedding}, "cohere2": {Embedding}, "reranker": {Embedding, Scoring}} {
		path := filepath.Join(t.TempDir(), kind+".gguf")
		must.Do(t, synth.SmallFile(path, kind, 1))
		m := must.Get(native.LoadModel(t.Context(), path, native.ModelOptions{}))(t)
		var stages []string
		lacks, err := runEmbeddingExercises(m, nil, func(stage string) { stages = append(stages, stage) })
		if err := errors.Join(err, m.Close()); err != nil || len(lacks) > 0 {
			t.Errorf("%s: %v, %v", kind, lacks, err)
		}
		if !slices.Equal(stages, want) {
			t.Errorf("%s: tried %v, want %v", kind, stages, want)
		}
		known := Lacks{{Embedding, "it crashed"}, {Scoring, "it crashed"}}
		if lacks, err := runEmbeddingExercises(m, known, func(stage string) { t.Errorf("%s was tried", stage) }); err != nil || !slices.Equal(lacks, known) {
			t.Errorf("%v, %v", lacks, err)
		}
	}
}
