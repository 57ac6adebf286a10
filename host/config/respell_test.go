// SPDX-License-Identifier: MIT

package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestRespell(t *testing.T) {
	for _, tc := range []struct{ given, want []string }{
		{[]string{"-m", "x.gguf", "-c", "4096", "-np", "4", "-t", "2", "-ngl", "99", "-b", "512", "-ub", "256", "-a", "x", "-n", "64"},
			[]string{"--model", "x.gguf", "--ctx-size", "4096", "--parallel", "4", "--threads", "2", "--gpu-layers", "99", "--batch-size", "512",
				"--ubatch-size", "256", "--alias", "x", "--n-predict", "64"}},
		{[]string{"--n-gpu-layers=3", "--no-webui", "--metrics", "-cb", "--no-context-shift"}, []string{"--gpu-layers=3", "--ui=false", "--context-shift=false"}},
		{[]string{"--listen", ":1", "--unknown", "-zz"}, []string{"--listen", ":1", "--unknown", "-zz"}},
		{[]string{"--control-vector-layer-range", "1", "4", "x.gguf"}, []string{"--control-vector-layer-range=1,4", "x.gguf"}},
		{[]string{"--control-vector-layer-range", "1,4", "x.gguf"}, []string{"--control-vector-layer-range", "1,4", "x.gguf"}},
		{[]string{"--", "-m"}, []string{"--", "-m"}},
	} {
		if diff := cmp.Diff(tc.want, Respell(tc.given)); diff != "" {
			t.Errorf("%v: %s", tc.given, diff)
		}
	}
}

// A command line of llama-server's is understood.
func TestFlagValues_LlamaServers(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want func(Config) bool
	}{
		{[]string{"--host", "0.0.0.0", "--port", "9000"}, func(c Config) bool { return c.Server.Listen == "0.0.0.0:9000" }},
		{[]string{"--port", "9000"}, func(c Config) bool { return c.Server.Listen == "127.0.0.1:9000" }},
		{[]string{"--host", "::1"}, func(c Config) bool { return c.Server.Listen == "[::1]:8080" }},
		{[]string{"--host", "/run/p.sock"}, func(c Config) bool { return c.Server.Listen == "/run/p.sock" }},
		{[]string{"--listen", ":7000", "--port", "7001"}, func(c Config) bool { return c.Server.Listen == ":7001" }},
		{[]string{"--cache-ram", "256"}, func(c Config) bool { return c.Scheduler.CacheRAM == 256<<20 }},
		{[]string{"-ctxcp", "4", "-cms", "100"}, func(c Config) bool { return c.Scheduler.CtxCheckpoints == 4 && c.Scheduler.CheckpointMinStep == 100 }},
		{[]string{"--swa-checkpoints", "0"}, func(c Config) bool { return c.Scheduler.CtxCheckpoints == 0 }},
		{[]string{"--cache-ram=1GiB"}, func(c Config) bool { return c.Scheduler.CacheRAM == 1<<30 }},
		{[]string{"-a", "a,b", "--tags", "x,y"}, func(c Config) bool { return len(c.Model.Alias) == 2 && len(c.Model.Tags) == 2 }},
		{[]string{"--context-shift", "--keep", "-1", "-n", "5"},
			func(c Config) bool {
				return c.Scheduler.ContextShift && c.Scheduler.Keep == -1 && c.Scheduler.NPredict == 5
			}},
		{[]string{"--no-ui"}, func(c Config) bool { return !c.Server.UI }},
		{nil, func(c Config) bool { return c.Server.UI && !c.Scheduler.ContextShift && c.Scheduler.NPredict == -1 }},
	} {
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		AddFlags(fs)
		if err := fs.Parse(Respell(tc.args)); err != nil {
			t.Errorf("%v: %v", tc.args, err)
			continue
		}
		c, err := Load(Sources{Flags: FlagValues(fs)})
		if err != nil || !tc.want(c) {
			t.Errorf("%v: %+v, %v", tc.args, c, err)
		}
	}
}
