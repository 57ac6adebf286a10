// SPDX-License-Identifier: MIT

package config

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
	"github.com/spf13/pflag"
)

func TestFlagValues_OnlyGivenOnes(t *testing.T) {
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(fs)
	must.Do(t, fs.Parse([]string{"--api-key", "a,b", "--api-key", "c", "--parallel=3"}))
	want := map[string]any{"server.api_keys": "a,b,c", "scheduler.slots": "3"}
	if diff := cmp.Diff(want, FlagValues(fs)); diff != "" {
		t.Error(diff)
	}
}

func TestRespell(t *testing.T) {
	for _, tc := range []struct{ given, want []string }{
		{[]string{"-m", "x.gguf", "-c", "4096", "-np", "4", "-t", "2", "-ngl", "99", "-b", "512", "-ub", "256", "-a", "x", "-n", "64"},
			[]string{"--model", "x.gguf", "--ctx-size", "4096", "--parallel", "4", "--threads", "2", "--gpu-layers", "99", "--batch-size", "512",
				"--ubatch-size", "256", "--alias", "x", "--n-predict", "64"}},
		{[]string{"--n-gpu-layers=3", "--no-webui", "--metrics", "-cb", "--no-context-shift"}, []string{"--gpu-layers=3", "--ui=false", "--metrics", "--context-shift=false"}},
		{[]string{"--listen", ":1", "--unknown", "-zz"}, []string{"--listen", ":1", "--unknown", "-zz"}},
		{[]string{"--control-vector-layer-range", "1", "4", "x.gguf"}, []string{"--control-vector-layer-range=1,4", "x.gguf"}},
		{[]string{"--control-vector-layer-range", "1,4", "x.gguf"}, []string{"--control-vector-layer-range", "1,4", "x.gguf"}},
		{[]string{"--threads-http", "8", "--no-warmup", "-sps", "0.5", "--cache-reuse=256", "--log-colors", "off", "--log-timestamps", "--port", "1"}, []string{"--port", "1"}},
		{[]string{"--no-slots", "-to", "600", "-lv", "4", "-kvu", "--log-jsonl"},
			[]string{"--slots=false", "--timeout", "600", "--log-level", "4", "--kv-layout=shared", "--log-format=json"}},
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
		{[]string{"--host", "0.0.0.0", "--port", "9000"}, func(c Config) bool { return c.Server.Listen.String() == "0.0.0.0:9000" }},
		{[]string{"--port", "9000"}, func(c Config) bool { return c.Server.Listen.String() == "127.0.0.1:9000" }},
		{[]string{"--host", "::1"}, func(c Config) bool { return c.Server.Listen.String() == "[::1]:8080" }},
		{[]string{"--host", "/run/p.sock"}, func(c Config) bool { return c.Server.Listen.String() == "/run/p.sock" }},
		{[]string{"--listen", ":7000", "--port", "7001"}, func(c Config) bool { return c.Server.Listen.String() == ":7001" }},
		{[]string{"-v"}, func(c Config) bool { return c.Log.Level == "debug" }},
		{[]string{"--verbose"}, func(c Config) bool { return c.Log.Level == "debug" }},
		{[]string{"-lv", "0"}, func(c Config) bool { return c.Log.Level == "error" }},
		{[]string{"--verbosity", "2"}, func(c Config) bool { return c.Log.Level == "warn" }},
		{[]string{"--log-verbosity", "3"}, func(c Config) bool { return c.Log.Level == "info" }},
		{[]string{"-lv", "99"}, func(c Config) bool { return c.Log.Level == "debug" }},
		{[]string{"--log-disable"}, func(c Config) bool { return c.Log.Level == "error" }},
		{[]string{"-no-kvu"}, func(c Config) bool { return c.Model.KVLayout == "split" }},
		{[]string{"-to", "3600"}, func(c Config) bool {
			return c.Server.BodyTimeout == time.Hour && c.Server.WriteTimeout == time.Hour && c.Server.HeaderTimeout == 10*time.Second
		}},
		{[]string{"--timeout", "99999"}, func(c Config) bool { return c.Server.WriteTimeout == 99999*time.Second }},
		{[]string{"--sleep-idle-seconds", "300"}, func(c Config) bool { return c.Models.IdleMain == 5*time.Minute }},
		{[]string{"--sleep-idle-seconds", "-1"}, func(c Config) bool { return c.Models.IdleMain == 0 }},
		{[]string{"--api-prefix", "/llm/v2", "--path", ".", "--props", "--no-slots", "--no-metrics", "--reuse-port"}, func(c Config) bool {
			return c.Server.APIPrefix == "/llm/v2" && c.Server.UIDir == "." && c.Server.PropsRoute && !c.Server.SlotsRoute && !c.Server.MetricsRoute && c.Server.ReusePort
		}},
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
		{[]string{"-sm", "row", "-ts", "3,1", "-mg", "1", "-dev", "CUDA0,CUDA1", "-ngl", "all"}, func(c Config) bool {
			return c.Model.SplitMode == "row" && slices.Equal(c.Model.TensorSplit, Shares{3, 1}) && c.Model.MainGPU == 1 && len(c.Model.Device) == 2 && c.Model.GPULayers == -1
		}},
		{[]string{"-ot", `blk\.[0-9]+\.ffn=CPU,output=CPU`, "-cmoe", "-ncmoe", "4", "-ncffn", "2"}, func(c Config) bool {
			return len(c.Model.OverrideTensor) == 2 && c.Model.CPUMoE && c.Model.NCPUMoE == 4 && c.Model.NCPUFFN == 2
		}},
		{[]string{"-nkvo", "--no-op-offload", "-nr", "--no-host", "--swa-full", "--check-tensors"}, func(c Config) bool {
			return !c.Model.KVOffload && !c.Model.OpOffload && !c.Model.Repack && c.Model.NoHost && c.Model.SWAFull && c.Model.CheckTensors
		}},
		{[]string{"-kvo", "--repack"}, func(c Config) bool { return c.Model.KVOffload && c.Model.Repack && len(c.Changed()) == 0 }},
		{[]string{"--mlock"}, func(c Config) bool { return c.Model.LoadMode == "mmap+mlock" }},
		{[]string{"--no-mmap"}, func(c Config) bool { return c.Model.LoadMode == "none" }},
		{[]string{"-lm", "dio", "-lzm", "off", "--numa", "isolate"}, func(c Config) bool {
			return c.Model.LoadMode == "dio" && c.Model.LazyMode == "off" && c.Model.NUMA == "isolate"
		}},
		{[]string{"-fa", "1", "-ctk", "q8_0", "-ctv", "q5_1", "-tb", "-1"}, func(c Config) bool {
			return c.Model.FlashAttn == "on" && c.Model.CacheTypeK == "q8_0" && c.Model.CacheTypeV == "q5_1" && c.Model.ThreadsBatch == 0 &&
				cmp.Equal(c.Changed(), []string{"cache_type_k=q8_0", "cache_type_v=q5_1", "flash_attn=on"})
		}},
		{[]string{"--rope-scaling", "yarn", "--rope-scale", "4", "--yarn-orig-ctx", "4096", "--yarn-ext-factor", "0", "--yarn-attn-factor", "1", "--yarn-beta-slow", "1", "--yarn-beta-fast", "32"},
			func(c Config) bool {
				return c.Model.RopeScaling == "yarn" && c.Model.RopeScale == 4 && c.Model.YarnOrigCtx == 4096 && c.Model.YarnExtFactor == 0 && c.Model.YarnBetaFast == 32
			}},
		{[]string{"--override-kv", "a=int:1,b=str:x"}, func(c Config) bool { return len(c.Model.OverrideKV) == 2 }},
		{nil, func(c Config) bool {
			return c.Server.UI && c.Server.SlotsRoute && c.Server.MetricsRoute && !c.Server.PropsRoute && !c.Scheduler.ContextShift && c.Scheduler.NPredict == -1
		}},
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

func TestCheckAbsent(t *testing.T) {
	for _, tc := range []struct {
		args []string
		says string // empty: nothing
	}{
		{[]string{"serve", "--logit-bias", "3+1"}, "set them in the request"},
		{[]string{"serve", "--temp", "0.7"}, ""},
		{[]string{"serve", "-m", "x", "--spec-draft-p-min=0.5"}, "--spec-type"},
		{[]string{"serve", "--alias", "-md"}, ""},
		{[]string{"serve", "--", "--temp"}, ""},
		{[]string{"serve", "--grammar-file", "x"}, "set them in the request"},
		{[]string{"serve", "--unknown", "-zz"}, ""},
		{[]string{"serve", "--log-level", "warn", "-c", "4096", "--no-ui", "--metrics"}, ""},
		{[]string{"serve", "--log-file", "x"}, "--log-level"},
		{[]string{"serve", "-sps", "0.5", "--threads-http", "-md"}, ""},
		{[]string{"serve", "--api-prefix", "/x", "-lv", "4", "--no-slots", "-to", "9", "--log-prefix", "-no-kvu"}, ""},
		{[]string{"serve", "--kv-unified-per-slot", "9"}, "--kv-layout"},
	} {
		err := CheckAbsent(tc.args)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%v: %v, want %q", tc.args, err, tc.says)
		}
	}
}

// docs/llama-server.md shows the table of flags that are absent.
func TestAbsent_Documented(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/llama-server.md"))(t)
	for _, group := range absentFlags {
		for _, flag := range group.flags {
			if known, _ := FindFlag(flag); known {
				t.Errorf("%s is understood, so it is not absent", flag)
			}
		}
		row := "| `" + strings.Join(group.flags, "`, `") + "` | " + group.because + " |\n"
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/llama-server.md lacks the row\n%s", row)
		}
	}
}
