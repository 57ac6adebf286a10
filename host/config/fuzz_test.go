// SPDX-License-Identifier: MIT

package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
	"github.com/spf13/pflag"
)

// Whatever the sources hold, it is refused or becomes a valid configuration: always the same, and
// one that its own printout gives again. No secret is in an error.
func FuzzLoad(f *testing.F) {
	f.Add("server:\n  listen: 127.0.0.1:1\n  api_keys: [a, b]\nscheduler: {slots: 2}\n", "PENSTOCK_SCHEDULER_MAX_QUEUE=5", "-c\n4096\n--no-ui")
	path := filepath.Join(f.TempDir(), "penstock.yaml")
	f.Fuzz(func(t *testing.T, file, environ, args string) {
		must.Do(t, os.WriteFile(path, []byte(file), 0o600))
		s := Sources{File: path, Environ: strings.Split(environ, "\n"), Flags: parsed(strings.Split(args, "\n"))}
		c, err := Load(s)
		if _, second := Load(s); text(err) != text(second) {
			t.Errorf("%v, and then %v", err, second)
		}
		if err == nil {
			checkLoaded(t, c)
		}
		s.Environ = append(s.Environ, "PENSTOCK_SERVER_API_KEYS=canary 5f1c", "PENSTOCK_SERVER_ADMIN_KEYS=canary")
		if _, err := Load(s); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("keys that are none: %v", err)
		}
	})
}

// parsed is what a command line gives, in llama-server's spellings or in ours.
func parsed(args []string) map[string]any {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(fs)
	if fs.Parse(Respell(args)) != nil {
		return nil
	}
	return FlagValues(fs)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func checkLoaded(t *testing.T, c Config) {
	t.Helper()
	for _, name := range append(c.NamedModels(), "in-the-folder") {
		own := loader{settings: c.ForModel(name).settings}
		if _, err := own.build(); err != nil {
			t.Errorf("the model %q: %v", name, err)
		}
	}
	var environ []string
	for _, s := range c.Settings() {
		if reflect.TypeOf(s.Value) != reflect.TypeOf(s.Key.Default) {
			t.Errorf("%s is a %T", s.Key.Name, s.Value)
		}
		if s.Origin != "default" && isSayable(s.Value) {
			environ = append(environ, s.Key.Variable()+"="+formatValue(s.Value))
		}
	}
	again, err := Load(Sources{File: os.DevNull, Environ: environ})
	if err != nil {
		t.Fatalf("%q: %v", environ, err)
	}
	for i, s := range c.Settings() {
		if isSayable(s.Value) && !cmp.Equal(s.Value, again.settings[i].Value) {
			t.Errorf("%s is %#v, and read from its text %#v", s.Key.Name, s.Value, again.settings[i].Value)
		}
	}
}

// isSayable reports whether an environment variable can say a value: it cannot say that there is
// none, nor that a text of a list has a comma in it or blanks around it.
func isSayable(v any) bool {
	list, _ := v.([]string)
	return formatValue(v) != "" && !slices.ContainsFunc(list, func(s string) bool { return s == "" || strings.TrimSpace(s) != s || strings.Contains(s, ",") })
}

// plain are texts that YAML takes without quotation marks.
var plain = regexp.MustCompile(`^[a-zA-Z0-9.+_/]([a-zA-Z0-9.+_/:-]*[a-zA-Z0-9.+_/-])?$`)

// A text means the same wherever it is given: in the file, with quotation marks and without, in
// the environment and as a flag.
func FuzzLoad_Sources(f *testing.F) {
	for i, key := range table {
		f.Add(uint8(i), formatValue(key.Default))
	}
	path := filepath.Join(f.TempDir(), "penstock.yaml")
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		key := table[int(which)%len(table)]
		if text == "" || !utf8.ValidString(text) {
			return
		}
		sources := map[string]Sources{"environment": {File: os.DevNull, Environ: []string{key.Variable() + "=" + text}}}
		if _, err := strconv.ParseUint(text, 10, 64); key.Flag != "" && (err != nil || key.Unit == "") {
			sources["flag"] = Sources{File: os.DevNull, Flags: parsed([]string{"--" + key.Flag + "=" + text})}
		}
		want, refused := Load(sources["environment"])
		for name, s := range sources {
			checkSame(t, key, name, s, want, refused)
		}
		written := []string{strconv.QuoteToASCII(text)}                  // whose escapes are YAML's
		if plain.MatchString(text) && !strings.EqualFold(text, "null") { // which is no value
			written = append(written, text)
		}
		section, name, _ := strings.Cut(key.Name, ".")
		for _, value := range written {
			must.Do(t, os.WriteFile(path, []byte(section+":\n  "+name+": "+value+"\n"), 0o600))
			checkSame(t, key, "file with "+value, Sources{File: path}, want, refused)
		}
	})
}

func checkSame(t *testing.T, key Key, name string, s Sources, want Config, refused error) {
	t.Helper()
	got, err := Load(s)
	if (err == nil) != (refused == nil) {
		t.Fatalf("%s, %s: %v; environment: %v", key.Name, name, err, refused)
	}
	for i := range got.settings {
		if diff := cmp.Diff(want.settings[i].Value, got.settings[i].Value); diff != "" {
			t.Errorf("%s, %s: %s (-environment +got):\n%s", key.Name, name, got.settings[i].Key.Name, diff)
		}
	}
}
