// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	got := penstock(t, "", "version", "--json")
	var b build
	if err := json.Unmarshal([]byte(got.out), &b); err != nil {
		t.Fatalf("%v in %q (%s)", err, got.out, got.err)
	}
	if b != thisBuild() {
		t.Errorf("version --json = %+v, want %+v", b, thisBuild())
	}
	for name, value := range map[string]string{"llama.cpp": b.LlamaCPP, "backend": b.Backend, "stamp": b.BuildStamp, "Go": b.Go} {
		if value == "" {
			t.Errorf("the version of %s is empty", name)
		}
	}
	if text := penstock(t, "", "version").out; !strings.Contains(text, "llama.cpp "+b.LlamaCPP) {
		t.Errorf("version prints %q", text)
	}
	if flag, command := penstock(t, "", "--version"), penstock(t, "", "version"); flag.out != command.out || flag.err != "" {
		t.Errorf("--version prints %q and %q, version %q", flag.out, flag.err, command.out)
	}
	for own, want := range map[bool]string{true: "with Penstock's kernels", false: "PENSTOCK_KERNELS=OFF"} {
		if got := kernelsText(own); !strings.Contains(got, want) {
			t.Errorf("with own kernels %t it says %q", own, got)
		}
	}
}
