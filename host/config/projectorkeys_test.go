// SPDX-License-Identifier: MIT

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// fromArgs loads what a command line of llama-server's says, with a file.
func fromArgs(t *testing.T, file string, args ...string) (Config, error) {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse(Respell(args)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Sources{File: path, Flags: FlagValues(flags)})
}

func TestProjector_Flags(t *testing.T) {
	usual := Projector{MMProjAuto: true, MMProjOffload: true}
	named, without, onCPU, bounded := usual, usual, usual, usual
	named.MMProj, without.MMProjAuto, onCPU.MMProjOffload, onCPU.MMProjDevice = "a.gguf", false, false, "none"
	bounded.ImageMinTokens, bounded.ImageMaxTokens = 8, 64
	for _, c := range []struct {
		args string
		want Projector
	}{
		{"", usual},
		{"-mm a.gguf", named},
		{"--mmproj a.gguf --mmproj-auto --mmproj-offload", named},
		{"--no-mmproj", without},
		{"--no-mmproj-auto", without},
		{"--no-mmproj-offload -mmdev none", onCPU},
		{"--image-min-tokens 8 --image-max-tokens 64", bounded},
	} {
		got, err := fromArgs(t, "log: {level: info}\n", strings.Fields(c.args)...)
		if err != nil || got.Model.Projector != c.want {
			t.Errorf("%s: %+v, %v", c.args, got.Model.Projector, err)
		}
	}
	if _, err := fromArgs(t, "log: {level: info}\n", "--image-min-tokens", "65", "--image-max-tokens", "64"); !errors.Is(err, ErrWrongValue) || !strings.Contains(err.Error(), "model.image_min_tokens") {
		t.Error(err)
	}
	if err := CheckAbsent([]string{"serve", "--mmproj-url", "x"}); err == nil || !strings.Contains(err.Error(), "model pull") {
		t.Error(err)
	}
}

// A projector belongs to one model; where it computes and how many tokens a picture has counts for
// all.
func TestProjector_OfSeveralModels(t *testing.T) {
	c, err := fromArgs(t, `
model: {mmproj: first.gguf, image_max_tokens: 256, mmproj_offload: false}
models:
  seer: {path: seer.gguf, mmproj: second.gguf, image_max_tokens: 64}
  reader: {path: reader.gguf}
`)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Projector{
		"seer":    {MMProj: "second.gguf", MMProjAuto: true, ImageMaxTokens: 64},
		"reader":  {MMProjAuto: true, ImageMaxTokens: 256},
		"another": {MMProjAuto: true, ImageMaxTokens: 256},
	} {
		if got := c.ForModel(name).Model.Projector; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestModel_ProjectorDevice(t *testing.T) {
	gpus := []string{"CUDA0", "CUDA1"}
	for _, c := range []struct {
		model Model
		gpus  []string
		want  string
	}{
		{Model{Projector: Projector{MMProjOffload: true}}, nil, ""},
		{Model{Projector: Projector{MMProjOffload: true}}, gpus, "CUDA0"},
		{Model{Projector: Projector{MMProjOffload: false}}, gpus, ""},
		{Model{Projector: Projector{MMProjOffload: true, MMProjDevice: "CUDA1"}}, gpus, "CUDA1"},
		{Model{Projector: Projector{MMProjOffload: false, MMProjDevice: "CUDA1"}}, gpus, "CUDA1"},
		{Model{Projector: Projector{MMProjOffload: true, MMProjDevice: "none"}}, gpus, ""},
		{Model{Projector: Projector{MMProjOffload: true}, Compute: Compute{Device: []string{"CUDA1", "CUDA0"}}}, gpus, "CUDA1"},
		{Model{Projector: Projector{MMProjOffload: true}, Compute: Compute{Device: []string{"none"}}}, gpus, ""},
		{Model{Projector: Projector{MMProjOffload: true}, Compute: Compute{Device: []string{"RPC0"}}}, gpus, ""},
	} {
		if got := c.model.ProjectorDevice(c.gpus); got != c.want {
			t.Errorf("%+v of %v: %q, want %q", c.model.Projector, c.gpus, got, c.want)
		}
	}
}
