// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestDoctor_SoundSetUp(t *testing.T) {
	got := penstock(t, "", "doctor", "--json", "--listen", "127.0.0.1:0")
	var findings []finding
	if err := json.Unmarshal([]byte(got.out), &findings); err != nil {
		t.Fatalf("%v in %q (%s)", err, got.out, got.err)
	}
	if got.code != exitDone {
		t.Errorf("exit %d, want %d", got.code, exitDone)
	}
	topics := map[string]bool{}
	for _, f := range findings {
		topics[f.Topic] = true
		if f.State == stateFail {
			t.Errorf("failed: %+v", f)
		}
		if (f.State == stateOK) != (f.Remedy == "") {
			t.Errorf("%+v: a remedy belongs to what is not ok, and only there", f)
		}
	}
	for _, topic := range []string{"config", "cpu", "features", "backend", "device", "cache", "models", "listen", "tools", "kernels", "model"} {
		if !topics[topic] {
			t.Errorf("nothing about %s", topic)
		}
	}
}

func TestDoctor_BrokenSetUp(t *testing.T) {
	got := penstock(t, "", "doctor", "--parallel", "0", "--threads", "-1")
	if got.code != exitFailed {
		t.Errorf("exit %d, want %d", got.code, exitFailed)
	}
	for _, want := range []string{"fail  config", "scheduler.slots", "model.threads", "→ ", "ok    model", "1024 tokens a conversation"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the report does not say %q:\n%s", want, got.out)
		}
	}
	got = penstock(t, "", "doctor", "--model", "absent.gguf")
	if got.code != exitFailed || !strings.Contains(got.out, "fail  model") {
		t.Errorf("with an absent model: %+v", got)
	}
}

func TestCacheFinding(t *testing.T) {
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	file := open + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"":               stateWarn,
		open:             stateWarn,
		file:             stateWarn,
		open + "/absent": stateOK,
		t.TempDir():      stateOK,
	} {
		if got := cacheFinding(dir); got.State != want {
			t.Errorf("cacheFinding(%q) = %+v, want %s", dir, got, want)
		}
	}
}
