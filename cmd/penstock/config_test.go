// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

func TestConfigPrint_SaysWhereValuesComeFrom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	must.Do(t, os.WriteFile(file, []byte("scheduler:\n  slots: 3\n  max_queue: 5\n"), 0o600))
	t.Setenv("PENSTOCK_SCHEDULER_SLOTS", "4")
	args := []string{"config", "print", "--config", file, "--api-key", "hush", "--log-level", "warn"}
	text := penstock(t, "", args...)
	if text.code != exitDone {
		t.Fatalf("exit %d: %s", text.code, text.err)
	}
	if strings.Contains(text.out, "hush") {
		t.Errorf("a secret is shown:\n%s", text.out)
	}
	want := map[string][]string{
		"scheduler.slots":      {"4", "environment", "PENSTOCK_SCHEDULER_SLOTS"},
		"scheduler.max_queue":  {"5", "file", file},
		"log.level":            {"warn", "flag", "--log-level"},
		"scheduler.batch_size": {"2048", "default"},
	}
	for line := range strings.Lines(text.out) {
		fields := strings.Fields(line)
		if w, ok := want[fields[0]]; ok {
			if diff := cmp.Diff(w, fields[1:]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", fields[0], diff)
			}
			delete(want, fields[0])
		}
	}
	if len(want) > 0 {
		t.Errorf("not printed: %v", want)
	}
}

func TestConfigPrint_JSON(t *testing.T) {
	got := penstock(t, "", "config", "print", "--json", "--parallel", "2")
	var entries []struct{ Key, Value, Origin string }
	if err := json.Unmarshal([]byte(got.out), &entries); err != nil {
		t.Fatalf("%v in %q (%s)", err, got.out, got.err)
	}
	want := struct{ Key, Value, Origin string }{"scheduler.slots", "2", "flag --parallel"}
	if !slices.Contains(entries, want) {
		t.Errorf("entries %v, want %v among them", entries, want)
	}
}

func TestConfigCheck_Valid(t *testing.T) {
	if got := penstock(t, "", "config", "check"); got.code != exitDone || got.out != "the configuration is valid\n" {
		t.Errorf("config check = %+v", got)
	}
}

func TestConfig_SaysWhatIsUnsafe(t *testing.T) {
	for _, command := range []string{"check", "print"} {
		got := penstock(t, "", "config", command, "--listen", "0.0.0.0:80")
		if got.code != exitDone || strings.Contains(got.out, "unsafe") || !strings.Contains(got.err, "unsafe: everybody") || !strings.Contains(got.err, "--api-key") {
			t.Errorf("config %s = %+v", command, got)
		}
	}
}
