// SPDX-License-Identifier: MIT

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
	"github.com/spf13/pflag"
)

// Unless the operator says so, strangers send no code, and nobody does where plugins.lock names all
// code that may run.
func TestConfig_Scripts(t *testing.T) {
	lock := "a@sha256:" + strings.Repeat("0", 64)
	for name, tc := range map[string]struct {
		flags map[string]any
		want  string
	}{
		"default":              {nil, CodeOn},
		"public":               {map[string]any{"server.listen": ":80"}, CodeOff},
		"public, on":           {map[string]any{"server.listen": ":80", "plugins.scripts": "on"}, CodeOn},
		"public, keys":         {map[string]any{"server.listen": ":80", "server.api_keys": "a"}, CodeOn},
		"public, key file":     {map[string]any{"server.listen": ":80", "server.api_key_file": "f"}, CodeOn},
		"public, admin only":   {map[string]any{"server.listen": ":80", "server.admin_key": "a"}, CodeOff},
		"socket":               {map[string]any{"server.listen": "/run/penstock.sock"}, CodeOn},
		"off":                  {map[string]any{"plugins.scripts": "off"}, CodeOff},
		"locked":               {map[string]any{"plugins.lock": lock, "server.api_keys": "a"}, CodeOff},
		"locked, on":           {map[string]any{"plugins.lock": lock, "plugins.scripts": "on"}, CodeOn},
		"named keys":           {map[string]any{"plugins.script_keys": "a"}, CodeKeys},
		"named keys, by word":  {map[string]any{"plugins.script_keys": "a", "plugins.scripts": "keys"}, CodeKeys},
		"named keys of others": {map[string]any{"plugins.script_keys": "b", "server.api_keys": "a,b"}, CodeKeys},
	} {
		c, err := Load(Sources{Flags: tc.flags})
		if err != nil {
			t.Fatal(name, err)
		}
		if got := c.Scripts(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// fromArgs loads what a command line of llama-server's says, with a file.
func fromArgs(t *testing.T, file string, args ...string) (Config, error) {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(flags)
	must.Do(t, flags.Parse(Respell(args)))
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	must.Do(t, os.WriteFile(path, []byte(file), 0o600))
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
	c := must.Get(fromArgs(t, `
model: {mmproj: first.gguf, image_max_tokens: 256, mmproj_offload: false}
models:
  seer: {path: seer.gguf, mmproj: second.gguf, image_max_tokens: 64}
  reader: {path: reader.gguf}
`))(t)
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

func TestConfig_Risks(t *testing.T) {
	const key = "0123456789abcdef"
	for name, tc := range map[string]struct {
		flags map[string]any
		want  []string
	}{
		"default":          {nil, nil},
		"loopback, no key": {map[string]any{"server.listen": "[::1]:80"}, nil},
		"localhost":        {map[string]any{"server.listen": "localhost:80"}, nil},
		"socket":           {map[string]any{"server.listen": "/run/penstock.sock"}, nil},
		"public":           {map[string]any{"server.listen": "0.0.0.0:80"}, []string{"everybody who can reach 0.0.0.0:80"}},
		"all addresses":    {map[string]any{"server.listen": ":80"}, []string{"everybody"}},
		"public, modules":  {map[string]any{"server.listen": ":80", "plugins.modules": "on"}, []string{"everybody", "may upload code"}},
		"public, key":      {map[string]any{"server.listen": ":80", "server.api_keys": key}, []string{"unencrypted"}},
		"public, file":     {map[string]any{"server.listen": ":80", "server.api_key_file": "f"}, []string{"unencrypted"}},
		"public, TLS":      {map[string]any{"server.listen": ":80", "server.api_keys": key, "server.ssl_cert_file": "c", "server.ssl_key_file": "k"}, nil},
		"all origins":      {map[string]any{"server.cors_origins": "*"}, []string{"every page"}},
		"short keys":       {map[string]any{"server.api_keys": "abc"}, []string{"fewer than 16"}},
		"same key":         {map[string]any{"server.api_keys": key, "server.admin_key": key}, []string{"is the admin key"}},
		"all networks":     {map[string]any{"media.urls": "https", "media.url_networks": "10.0.0.0/8,0.0.0.0/0"}, []string{"fetch from its own machine"}},
		"networks, no URL": {map[string]any{"media.url_networks": "0.0.0.0/0"}, nil},
		"all proxies":      {map[string]any{"server.trusted_proxies": "0.0.0.0/0"}, []string{"any address"}},
	} {
		c, err := Load(Sources{Flags: tc.flags})
		if err != nil {
			t.Fatal(name, err)
		}
		risks := c.Risks()
		if len(risks) != len(tc.want) {
			t.Errorf("%s: %v, want %d", name, risks, len(tc.want))
			continue
		}
		for i, r := range risks {
			if !strings.Contains(r.What, tc.want[i]) || r.Remedy == "" || strings.Contains(r.What+r.Remedy, key) {
				t.Errorf("%s: %v, want %s", name, r, tc.want[i])
			}
		}
	}
}

func TestWorkers_RPC(t *testing.T) {
	for _, c := range []struct {
		addresses []string
		wrong     bool
	}{
		{[]string{"10.0.0.2:50052", "gpu.example.com:1"}, false},
		{[]string{"[::1]:50052"}, false},
		{[]string{"10.0.0.2"}, true},
		{[]string{":50052"}, true},
		{[]string{"10.0.0.2:0"}, true},
		{[]string{"10.0.0.2:65536"}, true},
		{[]string{"10.0.0.2:rpc"}, true},
		{[]string{"10.0.0.2:50052", "10.0.0.2:50052"}, true},
	} {
		_, err := Load(Sources{Flags: map[string]any{"workers.rpc": c.addresses}})
		if (err != nil) != c.wrong || c.wrong && !strings.Contains(err.Error(), "workers.rpc") {
			t.Errorf("%v: %v", c.addresses, err)
		}
	}
}

func TestWorkers_Check(t *testing.T) {
	for _, c := range []struct {
		of      Workers
		address string
		refused bool
	}{
		{Workers{}, "127.0.0.1:50052", false},
		{Workers{}, "localhost:50052", false},
		{Workers{}, "10.0.0.2:50052", true},
		{Workers{}, ":50052", true},
		{Workers{Insecure: true}, "10.0.0.2:50052", false},
		{Workers{TLSCert: "a", TLSKey: "b", TLSCA: "c"}, "10.0.0.2:50052", false},
	} {
		if err := c.of.Check(c.address); (err != nil) != c.refused {
			t.Errorf("%+v %s: %v", c.of, c.address, err)
		}
	}
}

func TestWorkers_TLSNeedsAll(t *testing.T) {
	for _, flags := range []map[string]any{
		{"workers.tls_cert": "a"}, {"workers.tls_cert": "a", "workers.tls_key": "b"}, {"workers.tls_ca": "c"},
	} {
		if _, err := Load(Sources{Flags: flags}); err == nil || !strings.Contains(err.Error(), "workers.tls_") {
			t.Errorf("%v: %v", flags, err)
		}
	}
}
