// SPDX-License-Identifier: MIT

package toolchain

import "os"

// has reports whether a program is on PATH.
func has(program string) bool { return len(existing(program)) > 0 }

func installGo() string {
	if has("brew") {
		return "Install it with: brew install go"
	}
	return "Install it from https://go.dev/dl/ and put its bin folder on PATH."
}

func installTinyGo() string {
	switch {
	case isCheckout():
		return "Build it with `make plugins-go` in the checkout of Penstock (some minutes, once), or install it from https://tinygo.org/getting-started/install/."
	case has("brew"):
		return "Install it with: brew install tinygo-org/tools/tinygo"
	}
	return "Install it from https://tinygo.org/getting-started/install/ and put it on PATH, or name its command in TINYGO."
}

// isCheckout reports whether this program lies in a checkout that can build TinyGo from its
// sources.
func isCheckout() bool {
	_, err := os.Stat(besides("scripts/tinygo.sh"))
	return err == nil && has("apt-get")
}

func installBinaryen() string {
	switch {
	case has("apt-get"):
		return "Install it with: sudo apt-get install binaryen"
	case has("brew"):
		return "Install it with: brew install binaryen"
	}
	return "Install Binaryen with this system's package manager, or name its command in WASMOPT."
}

func installRust() string {
	switch {
	case has("rustup"):
		return "Add the target with: rustup target add " + wasmTarget
	case has("apt-get"):
		return "Install it with: sudo apt-get install rustc cargo libstd-rust-dev-wasm32 lld gcc libc6-dev"
	}
	return "Install rustup from https://rustup.rs, then run: rustup target add " + wasmTarget
}
