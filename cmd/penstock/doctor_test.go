// SPDX-License-Identifier: MIT

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
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
	for _, topic := range []string{"config", "cpu", "features", "backend", "device", "cache", "models", "listen", "access", "tools", "kernels", "model"} {
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

// What ends the process later must not take along what was found before.
func TestReport_PrintsAtOnce(t *testing.T) {
	var out strings.Builder
	r := report{out: &out}
	r.add(processorFinding(0))
	if !strings.Contains(out.String(), "ok    cpu") {
		t.Errorf("after the first finding: %q", out.String())
	}
}

func TestDeviceFindings_DriverFaults(t *testing.T) {
	got := deviceFindings(model.Machine{}, fmt.Errorf("%w: SIGSEGV", model.ErrGPU))
	if len(got) != 2 || got[0].Topic != "backend" || got[1].State != stateFail || !strings.Contains(got[1].Detail, "SIGSEGV") {
		t.Errorf("got %+v", got)
	}
}

func TestLevelFindings(t *testing.T) {
	if got := levelFindings(native.LevelChoice{}); len(got) != 0 {
		t.Errorf("in a build for one CPU: %+v", got)
	}
	all := []string{"x86-64", "avx2", "amx"}
	for name, c := range map[string]struct {
		level        native.LevelChoice
		state, wants string
	}{
		"the best":  {native.LevelChoice{Used: "amx", Offered: all}, stateOK, "amx; this CPU has x86-64, avx2, amx"},
		"forced":    {native.LevelChoice{Used: "avx2", Offered: all, Forced: true}, stateWarn, "PENSTOCK_CPU_LEVEL"},
		"a failure": {native.LevelChoice{Used: "avx2", Offered: all, Failed: []string{"amx"}}, stateWarn, "amx failed a trial"},
	} {
		got := levelFindings(c.level)
		if len(got) != 1 || got[0].State != c.state || !strings.Contains(got[0].Detail+got[0].Remedy, c.wants) {
			t.Errorf("%s: got %+v, want %s with %q", name, got, c.state, c.wants)
		}
	}
}

func TestKernelFindings_GPUNotUsed_IsAWarning(t *testing.T) {
	got := kernelFindings(serving.Kernels{NoGPU: "SIGSEGV"})
	if len(got) != 2 || got[1].State != stateWarn || got[1].Topic != "gpu" || !strings.Contains(got[1].Detail, "SIGSEGV") {
		t.Errorf("got %+v", got)
	}
}

func TestCacheFinding(t *testing.T) {
	open := t.TempDir()
	must.Do(t, os.Chmod(open, 0o777))
	file := open + "/file"
	must.Do(t, os.WriteFile(file, nil, 0o600))
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

func TestAccessFindings(t *testing.T) {
	cfg := must.Get(config.Load(config.Sources{Flags: map[string]any{"server.listen": "0.0.0.0:80", "server.ssl_cert_file": "absent.pem", "server.ssl_key_file": "absent.pem"}}))(t)
	got := accessFindings(cfg)
	if len(got) != 2 || got[0].State != stateWarn || !strings.Contains(got[0].Detail, "everybody") || got[1].State != stateFail || got[1].Topic != "tls" {
		t.Errorf("got %+v", got)
	}
}

// The policies are told without their configuration, and what is wrong with their file.
func TestPolicyFindings(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "guard.js"), []byte(`export const plugin = {config: {type: "object", properties: {key: {type: "string"}}}}; export function sample() {}`), 0o600))
	for text, want := range map[string]finding{
		"policies: [{plugin: guard, config: {key: hush}, models: [tiny]}]": {stateOK, "policies", "guard (required; models tiny)", ""},
		"policies: [{plugin: guard, mode: often}]":                         {stateFail, "policies", `policies[0].mode is "often"`, "correct"},
		"policies: [{plugin: guard, config: {key: 1}}]":                    {stateFail, "policies", "policies[0].config.key: plugin guard", "correct"},
		"policies: [{plugin: gone}]":                                       {stateFail, "policies", "policies[0]: ", "correct"},
	} {
		path := filepath.Join(t.TempDir(), "policies.yaml")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		cfg := must.Get(config.Load(config.Sources{Flags: map[string]any{"plugins.policy_file": path, "plugins.dir": dir}}))(t)
		got := policyFindings(t.Context(), cfg)
		if len(got) != 1 || got[0].State != want.State || !strings.Contains(got[0].Detail, want.Detail) || strings.Contains(got[0].Detail, "hush") || !strings.HasPrefix(got[0].Remedy, want.Remedy) {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestCertificateFinding_TellsHowLong(t *testing.T) {
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	until := time.Date(2030, 6, 1, 0, 0, 0, 0, time.UTC)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.AddDate(-1, 0, 0), NotAfter: until}
	der := must.Get(x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key))(t)
	private := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	both := filepath.Join(t.TempDir(), "both.pem")
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	must.Do(t, os.WriteFile(both, text, 0o600))
	for days, want := range map[int]string{-400: stateFail, -100: stateOK, -3: stateWarn, 1: stateFail} {
		if got := certificateFinding(both, both, until.AddDate(0, 0, days)); got.State != want || !strings.Contains(got.Detail, "2030-06-01") {
			t.Errorf("%d days after its end: %+v, want %s", days, got, want)
		}
	}
}

func TestReceiptFindings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.pem")
	c := config.Receipts{KeyFile: path}
	if got := receiptFindings(c); len(got) != 1 || got[0].State != stateFail || !strings.Contains(got[0].Detail, path) {
		t.Errorf("without the file: %+v", got)
	}
	var id strings.Builder
	must.Do(t, makeReceiptKey(&id, path))
	if got := receiptFindings(c); len(got) != 1 || got[0].State != stateOK || !strings.Contains(got[0].Detail, strings.TrimSpace(id.String())) {
		t.Errorf("with a key: %+v", got)
	}
	must.Do(t, os.Chmod(path, 0o644))
	if got := receiptFindings(c); len(got) != 1 || got[0].State != stateWarn || !strings.Contains(got[0].Remedy, "chmod") {
		t.Errorf("with a key for all: %+v", got)
	}
	if got := receiptFindings(config.Receipts{}); got != nil {
		t.Errorf("without any: %+v", got)
	}
}

func TestDoctor_Projector(t *testing.T) {
	folder := t.TempDir()
	model, projector := must.Both(synth.MediaPairs[2].WriteFiles(folder, 1))(t)
	_, another := must.Both(synth.MediaPairs[5].WriteFiles(t.TempDir(), 1))(t)
	for _, c := range []struct {
		args []string
		says []string
	}{
		{nil, []string{"ok    media", "pictures with " + projector + " (mlp)"}},
		{[]string{"--no-mmproj"}, []string{"ok    media", "text only"}},
		{[]string{"-mm", another}, []string{"fail  model", another, "→ leave out --mmproj"}},
	} {
		got := penstock(t, "", append([]string{"doctor", "-m", model, "-c", "512", "--listen", "127.0.0.1:0"}, c.args...)...)
		for _, want := range c.says {
			if !strings.Contains(got.out, want) {
				t.Errorf("%v: no %q in\n%s%s", c.args, want, got.out, got.err)
			}
		}
	}
}
