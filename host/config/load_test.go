// SPDX-License-Identifier: MIT

package config

import (
	"encoding"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func origin(c Config, key string) string {
	for _, s := range c.Settings() {
		if s.Key.Name == key {
			return s.Origin
		}
	}
	return ""
}

func TestLoad_LaterSourcesWin(t *testing.T) {
	path := write(t, "server:\n  listen: 127.0.0.1:1\n  api_keys: [a, b]\nscheduler:\n  slots: 2\n  max_queue: 3\n  itl_target: 80\nplugins:\n")
	c, err := Load(Sources{
		File:    path,
		Environ: []string{"PENSTOCK_SCHEDULER_SLOTS=4", "PENSTOCK_SCHEDULER_MAX_QUEUE=5", "PENSTOCK_SERVER_BODY_LIMIT=2MiB", "HOME=/", "PENSTOCK_TEST_MODELS=x", "PENSTOCK_PROBE=1", "PENSTOCK_CPU_LEVEL=avx2", "PENSTOCK_LOG_LEVEL="},
		Flags:   map[string]any{"scheduler.slots": "6", "plugins.default": []string{"x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Scheduler{Slots: 6, BatchSize: 2048, UBatchSize: 512, MaxQueue: 5, ITLTarget: 80 * time.Millisecond, CacheRAM: 512 << 20, CtxCheckpoints: 32, CheckpointMinStep: 8192, NPredict: -1, Strategy: "decode-maximal"}
	if diff := cmp.Diff(want, c.Scheduler); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, c.Server.APIKeys); diff != "" {
		t.Error(diff)
	}
	if c.Server.BodyLimit != 2<<20 || c.Server.Listen.String() != "127.0.0.1:1" || c.Log.Level != "info" || c.Plugins.Default[0] != "x" {
		t.Errorf("got %+v", c)
	}
	for key, want := range map[string]string{
		"scheduler.slots":     "flag --parallel",
		"scheduler.max_queue": "environment PENSTOCK_SCHEDULER_MAX_QUEUE",
		"server.listen":       "file " + path,
		"log.level":           "default",
	} {
		if got := origin(c, key); got != want {
			t.Errorf("origin of %s: %q, want %q", key, got, want)
		}
	}
}

func TestLoad_Switch(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse([]string{"--strict-model"}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		s    Sources
		want bool
	}{
		"default":     {Sources{}, false},
		"file":        {Sources{File: write(t, "model:\n  strict: true\n")}, true},
		"environment": {Sources{Environ: []string{"PENSTOCK_MODEL_STRICT=On"}}, true},
		"bare flag":   {Sources{Flags: FlagValues(fs)}, true},
		"flag wins":   {Sources{Environ: []string{"PENSTOCK_MODEL_STRICT=1"}, Flags: map[string]any{"model.strict": "false"}}, false},
	} {
		c, err := Load(tc.s)
		if err != nil || c.Model.Strict != tc.want {
			t.Errorf("%s: %v %v", name, c.Model.Strict, err)
		}
	}
	if _, err := Load(Sources{Environ: []string{"PENSTOCK_MODEL_STRICT=maybe"}}); !errors.Is(err, ErrWrongValue) || !strings.Contains(err.Error(), "true or false") {
		t.Errorf("got %v", err)
	}
}

// TestLoad_EmptyProtection: an empty flag or variable, as a script has it whose own variable is
// unset, does not open the server. What says in so many words that there are no keys is taken.
func TestLoad_EmptyProtection(t *testing.T) {
	protecting := []string{"server.ssl_cert_file", "server.ssl_key_file", "server.api_keys", "server.api_key_file", "server.admin_key",
		"server.priority_keys", "workers.tls_cert", "workers.tls_key", "workers.tls_ca", "plugins.lock", "plugins.script_keys", "plugins.module_keys"}
	for _, key := range table {
		if key.Secret && !slices.Contains(protecting, key.Name) {
			t.Errorf("%s is secret, and may be given empty", key.Name)
		}
	}
	for _, name := range protecting {
		key := table[slices.IndexFunc(table, func(k Key) bool { return k.Name == name })]
		section, rest, _ := strings.Cut(name, ".")
		for source, s := range map[string]Sources{
			"flag":            {Flags: parsed([]string{"--" + key.Flag + "="})},
			"flag of a blank": {Flags: parsed([]string{"--" + key.Flag, " "})},
			"variable":        {Environ: []string{key.Variable() + "="}},
			"over the file":   {File: write(t, "server:\n  api_keys: [a]\n"), Flags: parsed([]string{"--" + key.Flag, ""})},
			"text in a file":  {File: write(t, section+":\n  "+rest+": \"\"\n")},
		} {
			_, err := Load(s)
			var problem *Problem
			if !errors.As(err, &problem) || problem.Key != name || !strings.Contains(err.Error(), "is empty") || !strings.Contains(err.Error(), "leave it out") {
				t.Errorf("%s, %s: %v", name, source, err)
			}
		}
	}
	c, err := Load(Sources{File: write(t, "server:\n  api_keys: []\n  admin_key:\n"), Environ: []string{"PENSTOCK_LOG_LEVEL="}})
	if err != nil || len(c.Server.APIKeys) > 0 || c.Server.AdminKey != "" {
		t.Errorf("no keys in so many words: %v", err)
	}
}

func TestLoad_Wrong(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		env        []string
		flags      map[string]any
		want       []string // all in the error
		is         error
	}{
		{name: "unknown key in file", file: "server:\n  lisen: x:1\n", is: ErrUnknownKey, want: []string{"server.lisen", `"x:1"`, "file "}},
		{name: "section is a value", file: "server: 3\n", is: ErrUnknownKey, want: []string{"server", `"3"`}},
		{name: "map for a value", file: "server:\n  listen:\n    host: a\n", is: ErrUnknownKey, want: []string{"server.listen.host"}},
		{name: "list for a value", file: "server:\n  listen: [a]\n", is: ErrWrongValue, want: []string{"server.listen", "HOST:PORT"}},
		{name: "unknown variable", env: []string{"PENSTOCK_SERVERLISTEN=x"}, is: ErrUnknownKey, want: []string{"PENSTOCK_SERVERLISTEN", "did you mean PENSTOCK_SERVER_LISTEN"}},
		{name: "not a number", env: []string{"PENSTOCK_SCHEDULER_SLOTS=many"}, is: ErrWrongValue, want: []string{"scheduler.slots", `"many"`, "PENSTOCK_SCHEDULER_SLOTS", "1 to 256"}},
		{name: "out of range", flags: map[string]any{"scheduler.slots": "0"}, is: ErrWrongValue, want: []string{"scheduler.slots", `"0"`, "flag --parallel", "1 to 256"}},
		{name: "NaN", flags: map[string]any{"scheduler.prefill_share": "NaN"}, is: ErrWrongValue, want: []string{"scheduler.prefill_share", "0 to 0.95"}},
		{name: "unknown drafter", flags: map[string]any{"speculation.type": "draft-eagle"}, is: ErrWrongValue, want: []string{"speculation.type", "draft-eagle", "none, draft-mtp, draft-eagle3, draft-dflash, draft-dspark, draft-simple or ngram-simple"}},
		{name: "bad address", flags: map[string]any{"server.listen": "localhost"}, is: ErrWrongValue, want: []string{"server.listen", `"localhost"`, "HOST:PORT"}},
		{name: "bad port", flags: map[string]any{"server.listen": "a:65536"}, is: ErrWrongValue, want: []string{"server.listen"}},
		{name: "bad level", flags: map[string]any{"log.level": "loud"}, is: ErrWrongValue, want: []string{"log.level", "debug, info, warn or error"}},
		{name: "bad size", flags: map[string]any{"server.body_limit": "9999999999GiB"}, is: ErrWrongValue, want: []string{"server.body_limit"}},
		{name: "unit of two meanings", flags: map[string]any{"server.body_limit": "512M"}, is: ErrWrongValue, want: []string{"server.body_limit", "1KiB to 1GiB", `"M" is no unit here`, "MB", "MiB"}},
		{name: "unit of a size", file: "server:\n  body_limit: 3 pages\n", is: ErrWrongValue, want: []string{"server.body_limit", `"pages" is no unit here`}},
		{name: "unit of a duration", env: []string{"PENSTOCK_SERVER_WRITE_TIMEOUT=5min"}, is: ErrWrongValue, want: []string{"server.write_timeout", `"min" is no unit here`, "ms, s, m and h"}},
		{name: "unit of a count", flags: map[string]any{"model.ctx_size": "8k"}, is: ErrWrongValue, want: []string{"model.ctx_size", `"k" is no unit here; it is a plain number`}},
		{name: "unit of a share", flags: map[string]any{"scheduler.prefill_share": "50%"}, is: ErrWrongValue, want: []string{"scheduler.prefill_share", `"%" is no unit here`}},
		{name: "bad origin", env: []string{"PENSTOCK_SERVER_CORS_ORIGINS=localhost,*,example.org"}, is: ErrWrongValue, want: []string{"server.cors_origins", `example.org"`}},
		{name: "micro-batch over batch", flags: map[string]any{"scheduler.batch_size": "64", "scheduler.ubatch_size": "65"}, is: ErrWrongValue, want: []string{"scheduler.ubatch_size", "at most scheduler.batch_size"}},
		{name: "priority of no key", file: "server:\n  api_keys: [a]\n  priority_keys: [a, b]\n", is: ErrWrongValue, want: []string{"server.priority_keys", "keys of server.api_keys"}},
		{name: "script of no key", file: "server:\n  api_keys: [a]\nplugins:\n  script_keys: [b]\n", is: ErrWrongValue, want: []string{"plugins.script_keys", "keys of server.api_keys"}},
		{name: "script keys in vain", file: "plugins:\n  scripts: \"off\"\n  script_keys: [b]\n", is: ErrWrongValue, want: []string{"plugins.script_keys", "keys or auto"}},
		{name: "module keys in vain", file: "plugins:\n  module_keys: [b]\n", is: ErrWrongValue, want: []string{"plugins.module_keys", "with plugins.modules keys"}},
		{name: "modules by no key", flags: map[string]any{"plugins.modules": "keys"}, is: ErrWrongValue, want: []string{"plugins.modules", "plugins.module_keys"}},
		{name: "scripts by no key", flags: map[string]any{"plugins.scripts": "keys"}, is: ErrWrongValue, want: []string{"plugins.scripts", "plugins.script_keys"}},
		{name: "certificate without key", flags: map[string]any{"server.ssl_cert_file": "c.pem"}, is: ErrWrongValue, want: []string{"server.ssl_key_file", "with server.ssl_cert_file"}},
		{name: "key without certificate", flags: map[string]any{"server.ssl_key_file": "k.pem"}, is: ErrWrongValue, want: []string{"server.ssl_cert_file", "with server.ssl_key_file"}},
		{name: "endpoint", flags: map[string]any{"telemetry.otlp_endpoint": "localhost:4318"}, is: ErrWrongValue, want: []string{"telemetry.otlp_endpoint", "http://127.0.0.1:4318"}},
		{name: "given twice", file: "server: {listen: a:1}\nserver.listen: b:1\n", is: ErrWrongValue, want: []string{"server.listen", "given once", "file "}},
		{name: "not YAML", file: "a: [", want: []string{"configuration file"}},
		{name: "all at once", env: []string{"PENSTOCK_LOG_LEVEL=x", "PENSTOCK_LOG_FORMAT=y"}, want: []string{"log.level", "log.format"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Sources{Environ: tc.env, Flags: tc.flags}
			if tc.file != "" {
				s.File = write(t, tc.file)
			}
			_, err := Load(s)
			if err == nil {
				t.Fatal("no error")
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%v is not %v", err, tc.is)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not mention %q", err, part)
				}
			}
		})
	}
}

// YAML would make numbers and times of these texts.
func TestLoad_File_ValuesAreAsWritten(t *testing.T) {
	c, err := Load(Sources{File: write(t, "server:\n  api_keys: [0123, 1e9, 0x1F, 1_000, 12345678901234567890]\nmodel: {path: 2026-01-02, alias: 1.50}\n"+
		"scheduler: {slots: 3, prefill_share: 0.5, context_shift: yes}\nmodels: {007: {path: 0.10}}\nplugins: {dir: ~}\n")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0123", "1e9", "0x1F", "1_000", "12345678901234567890"}, c.Server.APIKeys); diff != "" {
		t.Error(diff)
	}
	if c.Model.Path != "2026-01-02" || c.Model.Alias[0] != "1.50" || c.ForModel("007").Model.Path != "0.10" {
		t.Errorf("got %+v, %+v", c.Model, c.ForModel("007").Model)
	}
	if c.Scheduler.Slots != 3 || c.Scheduler.PrefillShare != 0.5 || !c.Scheduler.ContextShift || c.Plugins.Dir != "plugins" {
		t.Errorf("got %+v, %q", c.Scheduler, c.Plugins.Dir)
	}
}

func TestLoad_Units(t *testing.T) {
	for text, want := range map[string]int64{"512MiB": 512 << 20, "512 mib": 512 << 20, "512Mi": 512 << 20, "1GB": 1e9, "1tib": 1 << 40, "7": 7, "7B": 7, "2KB": 2000} {
		if got, err := Bytes.parse(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "M", "1K", "1.5GiB", "-1", "9999999TiB", "1e3", "MiB", "1M2"} {
		if got, err := Bytes.parse(text); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
	for text, want := range map[string]time.Duration{"1h30m": 90 * time.Minute, "1.5s": 1500 * time.Millisecond, "20": 20 * time.Millisecond} {
		if got, err := Duration.parse(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// Kubernetes tells a pod of the Services beside it in variables. Those of a Service that is named
// as this program are not its configuration, and are told; others stay mistakes.
func TestLoad_VariablesOfKubernetes(t *testing.T) {
	service := func(name, port string) []string {
		return []string{name + "_SERVICE_HOST=10.0.0.1", name + "_SERVICE_PORT=8080", name + "_SERVICE_PORT_HTTP=8080", name + "_PORT=tcp://10.0.0.1:8080",
			name + "_PORT_" + port + "_TCP=tcp://10.0.0.1:8080", name + "_PORT_" + port + "_TCP_PROTO=tcp", name + "_PORT_" + port + "_TCP_PORT=8080", name + "_PORT_" + port + "_TCP_ADDR=10.0.0.1"}
	}
	both := append(service("PENSTOCK", "8080"), service("PENSTOCK_SERVER", "80")...)
	c, err := Load(Sources{Environ: append(both, "REDIS_SERVICE_HOST=10.0.0.2", "REDIS_SERVICE_PORT=1")})
	if err != nil || c.Server.Listen.String() != "127.0.0.1:8080" || !slices.Equal(c.Services(), []string{"PENSTOCK", "PENSTOCK_SERVER"}) {
		t.Errorf("%v; it listens on %s, services %v", err, c.Server.Listen, c.Services())
	}
	c, err = Load(Sources{Environ: append(service("PENSTOCK", "8080"), "PENSTOCK_SERVER_PORT=9000")})
	if err != nil || c.Server.Listen.String() != "127.0.0.1:9000" {
		t.Errorf("%v; it listens on %s", err, c.Server.Listen)
	}
	for _, environ := range [][]string{{"PENSTOCK_PORT=tcp://10.0.0.1:8080"}, {"PENSTOCK_SERVER_PORT=tcp://10.0.0.1:8080"}, append(service("PENSTOCK", "1"), "PENSTOCK_POORT=1"), append(service("PENSTOCK_SERVER", "1"), "PENSTOCK_SERVER_PORT_X=1")} {
		if _, err := Load(Sources{Environ: environ}); err == nil {
			t.Errorf("%v was taken", environ)
		}
	}
}

func TestLoad_SecretsAreNotShown(t *testing.T) {
	_, err := Load(Sources{Environ: []string{"PENSTOCK_SERVER_ADMIN_KEY=very secret", "PENSTOCK_ADMIN_KEY=hidden", "PENSTOCK_SERVER_API_KEYS=a b"}})
	if err == nil || strings.Contains(err.Error(), "very") || strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "a b") {
		t.Errorf("got %v", err)
	}
	c, err := Load(Sources{Environ: []string{"PENSTOCK_SERVER_API_KEYS=one,two"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Settings() {
		if s.Key.Name == "server.api_keys" && s.String() != "(secret)" {
			t.Errorf("printed %q", s)
		}
	}
}

func TestLoad_Files(t *testing.T) {
	if _, err := Load(Sources{File: filepath.Join(t.TempDir(), "absent.yaml")}); err == nil {
		t.Error("a named file that is absent was accepted")
	}
	t.Chdir(t.TempDir())
	if _, err := Load(Sources{}); err != nil {
		t.Errorf("without any file: %v", err)
	}
	if err := os.WriteFile(DefaultFile, []byte("log:\n  level: debug\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Sources{})
	if err != nil || c.Log.Level != "debug" {
		t.Errorf("got %q, %v", c.Log.Level, err)
	}
}

// holds reports whether a field can have values of a kind: of its Go type, or what texts stand for.
func holds(field, value reflect.Type) bool {
	if field == value || field == nil {
		return field == value
	}
	if value.Kind() == reflect.Slice && field.Kind() == reflect.Slice {
		field, value = field.Elem(), value.Elem()
	}
	return value.Kind() == reflect.String && reflect.PointerTo(field).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// The table, the structs and the defaults must agree, or a key would be read and then lost.
func TestKeys_EveryKeyHasAField(t *testing.T) {
	fields := map[string]reflect.Type{}
	for section := range reflect.TypeFor[Config]().Fields() {
		if !section.IsExported() {
			continue
		}
		for _, field := range reflect.VisibleFields(section.Type) {
			if !field.Anonymous {
				fields[section.Tag.Get("koanf")+"."+field.Tag.Get("koanf")] = field.Type
			}
		}
	}
	for _, k := range Keys() {
		if slices.Contains([]string{"server.host", "server.port", "server.timeout"}, k.Name) {
			continue // their values are in others' fields
		}
		if strings.HasPrefix(k.Name, samplingSection) && k.Name != samplingSection+"from_model" {
			c, err := Load(Sources{Flags: map[string]any{k.Name: k.Default}})
			if said := c.SamplingSaid(); err != nil || len(said) != 1 || said[strings.TrimPrefix(k.Name, samplingSection)] != formatValue(k.Default) {
				t.Errorf("%s: said %v, %v", k.Name, said, err)
			}
		} else if !holds(fields[k.Name], reflect.TypeOf(k.Default)) {
			t.Errorf("%s: field has type %v, default %T", k.Name, fields[k.Name], k.Default)
		}
		if k.check != nil && !k.check(k.Default) {
			t.Errorf("%s: default %v is not allowed", k.Name, k.Default)
		}
		delete(fields, k.Name)
	}
	if len(fields) > 0 {
		t.Errorf("fields without a key: %v", fields)
	}
}

func TestLoad_NamedModels_HaveTheirOwnSettings(t *testing.T) {
	path := write(t, `
model: {path: main.gguf, alias: [main], ctx_size: 4096, threads: 3}
scheduler: {slots: 2, batch_size: 64}
models:
  dir: /srv/models
  qwen2.5-0.5b: {path: sub/q.gguf, ctx_size: 512, slots: 5, alias: small}
  plain:
  hub: {path: h.gguf}
`)
	c, err := Load(Sources{File: path})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"hub", "plain", "qwen2.5-0.5b"}, c.NamedModels()); diff != "" {
		t.Fatal(diff)
	}
	if c.Models.Dir != "/srv/models" || c.Models.Hub != "" || c.Model.Path != "main.gguf" {
		t.Errorf("got %+v, %+v", c.Models, c.Model)
	}
	small := c.ForModel("qwen2.5-0.5b")
	if small.Model.Path != "sub/q.gguf" || small.Model.CtxSize != 512 || small.Model.Threads != 3 || small.Scheduler.Slots != 5 || small.Scheduler.UBatchSize != 64 ||
		!slices.Equal(small.Model.Alias, []string{"small"}) || small.Models.Dir != "/srv/models" {
		t.Errorf("got %+v, %+v", small.Model, small.Scheduler)
	}
	for name, want := range map[string]string{"plain": "plain", "hub": "h.gguf", "in-the-folder": "in-the-folder"} {
		if got := c.ForModel(name); got.Model.Path != want || got.Model.CtxSize != 4096 || len(got.Model.Alias) > 0 || got.Scheduler.Slots != 2 {
			t.Errorf("%s: %+v", name, got.Model)
		}
	}
}

func TestLoad_NamedModels_Wrong(t *testing.T) {
	for file, want := range map[string][]string{
		"models: {a: {listen: x}}":                     {"models.a.listen", "ctx_size"},
		"models: {a: {ctx_size: many}}":                {"model \"a\"", "model.ctx_size", "many", "models.a"},
		"models: {a: {slots: 0}, b: {threads: -1}}":    {"model \"a\"", "model \"b\""},
		"models: {a: {kernels: amx}}":                  {"model.kernels"},
		"models: {' a': {path: x}}":                    {"white space"},
		"models: {maximum: 3}":                         {"models.maximum", "penstock config print"},
		"models: {a: {batch_size: 8, ubatch_size: 9}}": {"at most scheduler.batch_size"},
	} {
		_, err := Load(Sources{File: write(t, file)})
		if err == nil {
			t.Errorf("%s: no error", file)
			continue
		}
		for _, text := range want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q does not say %q", file, err, text)
			}
		}
	}
}

// What is true of a model's settings does not depend on a folder that has gone since.
func TestForModel_FolderIsGone_IsTheSame(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "page")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Sources{File: os.DevNull, Flags: map[string]any{"server.ui_dir": folder, "model.path": "main.gguf", "model.lora": "main-lora.gguf"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if m := c.ForModel("other").Model; m.Path != "other" || len(m.Lora) > 0 {
		t.Errorf("the other model is %q with %v", m.Path, m.Lora)
	}
}

// A wrong value is told once, and blames no other.
func TestLoad_WrongValue_IsToldOnce(t *testing.T) {
	for _, flags := range []map[string]any{{"scheduler.batch_size": "256", "scheduler.ubatch_size": "0"}, {"scheduler.batch_size": "0", "scheduler.ubatch_size": "4096"}} {
		_, err := Load(Sources{File: os.DevNull, Flags: flags})
		if err == nil || strings.Count(err.Error(), ErrWrongValue.Error()) != 1 {
			t.Errorf("%v: %v", flags, err)
		}
	}
}
