// SPDX-License-Identifier: MIT

package sdk_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/sdk"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

const manifest = `[package]
name = "guest"
version = "1.0.0"
edition = "2021"

[lib]
crate-type = ["cdylib"]

[dependencies]
penstock = { path = "sdk" }

[profile.release]
panic = "abort"
opt-level = 1

[workspace]
`

// frogs panics in its 21st line.
const frogs = `use penstock::{Candidates, Choice, Manifest, Plugin, Request};

pub struct Frogs {
    fatal: bool,
}

#[penstock::export]
impl Plugin for Frogs {
    const MANIFEST: Manifest = Manifest {
        name: "guest",
        config_schema: r#"{"type":"object","properties":{"fatal":{"type":"boolean"}}}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        Ok(Frogs { fatal: request.config.read("fatal").map_err(|e| format!("config.{}", e))? })
    }

    fn sample(&mut self, candidates: &mut Candidates) -> Choice {
        if self.fatal {
            panic!("{} frogs are too many", candidates.len());
        }
        Choice::Keep(3)
    }
}
`

// TestRust_Plugin_WithoutTheCheckout builds a plugin in an empty folder, with the embedded SDK and
// Debian's cargo, and runs it: the host's fault has the panic's text and its place.
func TestRust_Plugin_WithoutTheCheckout(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New), hosttest.Built(built(t)))
	if _, err := opened(t, m, `{}`); err == nil || !strings.Contains(plugin.Told(err), "config.fatal is missing") {
		t.Errorf("without its config it is opened with %v", err)
	}
	for _, fatal := range []bool{false, true} {
		s := must.Get(opened(t, m, fmt.Sprintf(`{"fatal":%v}`, fatal)))(t)
		v := chain.View{Row: make([]float32, hosttest.Words{}.Size()), N: -1, Chosen: -1}
		if err := s.Apply(&v); fatal {
			hosttest.MustFault(t, err, abi.ExportSample, plugin.CauseTrap, "panicked at '100 frogs are too many', src/lib.rs:21:13")
		} else if err != nil || v.N != 3 {
			t.Errorf("%d candidates are left: %v", v.N, err)
		}
	}
}

// opened is a stage that is closed with the test.
func opened(t *testing.T, m *load.Plugin, config string) (*stage.Stage, error) {
	t.Helper()
	s := must.Get(stage.New(m, plugin.RequestInfo{Config: []byte(config)}))(t)
	must.Close(t, s)
	return s, s.Reset([]int32{1}, 1)
}

// built is the plugin's module.
func built(t *testing.T) []byte {
	t.Helper()
	const cargo = "/usr/bin/cargo"
	if _, err := os.Stat(cargo); err != nil {
		t.Fatalf("%v: `scripts/setup.sh rust` installs it", err)
	}
	folder := t.TempDir()
	must.Do(t, os.CopyFS(filepath.Join(folder, "sdk"), sdk.Rust()))
	must.Do(t, os.Mkdir(filepath.Join(folder, "src"), 0o755))
	for name, text := range map[string]string{"Cargo.toml": manifest, "src/lib.rs": frogs} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	build := exec.Command(cargo, "build", "--offline", "--quiet", "--release", "--target", "wasm32-unknown-unknown")
	build.Dir = folder
	build.Env = append(os.Environ(), "RUSTC=/usr/bin/rustc", "CARGO_HOME="+t.TempDir(), "CARGO_TARGET_DIR="+filepath.Join(folder, "target"))
	if out, err := build.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	return must.Get(os.ReadFile(filepath.Join(folder, "target", "wasm32-unknown-unknown", "release", "guest.wasm")))(t)
}
