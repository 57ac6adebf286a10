// SPDX-License-Identifier: MIT

package compile

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// Check refuses at once a module that is no plugin of this version.
func Check(wasm []byte, limits fuel.Limits) error {
	if err := checkHeader(wasm, limits.ModuleBytes); err != nil {
		return err
	}
	if versioned, err := fuel.Exports(wasm, abi.ExportABIV1, limits); err != nil {
		return rewriteError(err)
	} else if !versioned {
		return fmt.Errorf("%w: it does not export %s; a plugin in Rust needs #[penstock::export] before its impl, and others an SDK of this version", plugin.ErrVersion, abi.ExportABIV1)
	}
	return nil
}

// checkHeader checks what the first bytes and the size tell.
func checkHeader(wasm []byte, limit int) error {
	header := []byte("\x00asm\x01\x00\x00\x00")
	switch {
	case len(wasm) > limit:
		return fmt.Errorf("%w: %d bytes, at most %d are allowed; strip debug information or optimise for size", plugin.ErrTooLarge, len(wasm), limit)
	case len(wasm) < 4 || !bytes.Equal(wasm[:4], header[:4]):
		return fmt.Errorf("%w: it does not begin with the bytes \\0asm; upload the .wasm file itself", plugin.ErrNotWasm)
	case len(wasm) < 8 || !bytes.Equal(wasm[4:8], header[4:]):
		return fmt.Errorf("%w: its format is not version 1; a component must be built as a core module instead", plugin.ErrNotWasm)
	}
	return nil
}

// rewriteError wraps an error of package fuel in one of package plugin's.
func rewriteError(err error) error {
	switch {
	case errors.Is(err, fuel.ErrLimit):
		return fmt.Errorf("%w: %w", plugin.ErrLimit, err)
	case errors.Is(err, fuel.ErrUnsupported):
		return fmt.Errorf("%w: %w", plugin.ErrUnsupported, err)
	}
	return fmt.Errorf("%w: %w", plugin.ErrNotWasm, err)
}
