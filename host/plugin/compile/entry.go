// SPDX-License-Identifier: MIT

package compile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"github.com/penstock/penstock/host/plugin/fuel"
)

// What lies in an entry of the code cache, besides checksums. The host shows wazero only the module's skeleton, and
// wazero finds the whole module's code under it. Given the whole module, wazero would validate each function a second time.
const (
	skeletonFile = "skeleton.wasm" // see fuel.Skeleton
	factsFile    = "module.json"   // facts
	codeDir      = "code"          // wazero's cache of the skeleton, with the whole module's code in its place
	wholeDir     = "whole"         // wazero's cache of the whole module, while it is compiled
)

// entryFormat is raised with each change of what lies in an entry.
const entryFormat = 4

// version names the program's way to fill an entry. Where its file was replaced while it runs, the child is another program than
// the parent, so each tells its version.
func version() string { return fmt.Sprintf("%d %s", entryFormat, fuel.Version()) }

// facts are what the host must know of a module in an entry.
type facts struct {
	Version string      `json:"version"`
	Module  fuel.Module `json:"module"`
}

// entryName is the name of an entry: another version or other limits may turn the same module into other code.
func entryName(sum [sha256.Size]byte, version string, limits fuel.Limits) string {
	name := sha256.Sum256(fmt.Appendf(nil, "%x %s %+v", sum, version, limits))
	return hex.EncodeToString(name[:])
}

var (
	// errNoCode is the error of an entry whose code wazero did not take.
	errNoCode = errors.New("there is no code for this processor and this version of wazero")
	// errOtherVersion is the error of what another program than this one made, or is to make.
	errOtherVersion = errors.New("another version of this program")
)

// fillEntry meters and compiles a module and leaves in dir what openEntry needs. If the code cannot be
// kept, the error wraps errNotKept, and the module is not compiled again.
func fillEntry(ctx context.Context, wasm []byte, dir string, limits fuel.Limits) error {
	m, err := fuel.Rewrite(wasm, limits)
	if err != nil {
		return rewriteError(err)
	}
	if err := compileTo(ctx, m.Wasm, filepath.Join(dir, wholeDir), limits.MemoryPages); err != nil {
		return compileError(err)
	}
	skeleton := fuel.Skeleton(m.Wasm)
	if err := compileTo(ctx, skeleton, filepath.Join(dir, codeDir), limits.MemoryPages); err != nil {
		return err
	}
	whole, err := filesOf(filepath.Join(dir, wholeDir))
	code, err2 := filesOf(filepath.Join(dir, codeDir))
	if err := errors.Join(err, err2); err != nil || len(whole) != 1 || len(code) != 1 {
		return errors.Join(errNotKept, err)
	}
	text, err := json.Marshal(facts{version(), *m})
	if err := errors.Join(err, os.Rename(whole[0], code[0]), os.RemoveAll(filepath.Join(dir, wholeDir)),
		os.WriteFile(filepath.Join(dir, skeletonFile), skeleton, 0o600), os.WriteFile(filepath.Join(dir, factsFile), text, 0o600), seal(dir)); err != nil {
		return fmt.Errorf("%w: %w", errNotKept, err)
	}
	return nil
}

// compileTo compiles a module for what wazero keeps of it in a folder.
func compileTo(ctx context.Context, wasm []byte, dir string, pages uint32) error {
	code, err := newCode(ctx, newConfig(), wasm, dir, pages)
	if err != nil {
		return err
	}
	if err := code.Close(); err != nil {
		return fmt.Errorf("%w: %w", errNotKept, err)
	}
	return nil
}

// openEntry loads a module from an entry whose checksums are right. An entry of no use is removed, here or by
// replace. The skeleton must never run in place of the code, so wazero may not interpret here. If it did not find the code and
// compiled the skeleton instead, it has written a file.
func openEntry(ctx context.Context, entry string, pages uint32) (_ *Code, err error) {
	text, err := os.ReadFile(filepath.Join(entry, factsFile))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(entry))
		}
	}()
	var found facts
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	if found.Version != version() {
		return nil, errOtherVersion
	}
	skeleton, err := os.ReadFile(filepath.Join(entry, skeletonFile))
	if err != nil {
		return nil, err
	}
	before, err := stateOf(filepath.Join(entry, codeDir))
	if err != nil {
		return nil, err
	}
	if before == "" { // without its code, as another host may have left it just now
		return nil, errNoCode
	}
	code, err := newCode(ctx, wazero.NewRuntimeConfigCompiler(), skeleton, filepath.Join(entry, codeDir), pages)
	if err != nil {
		return nil, err
	}
	if after, err := stateOf(filepath.Join(entry, codeDir)); err != nil || after != before { // it compiled the skeleton
		return nil, errors.Join(errNoCode, err, code.Close())
	}
	code.Metered = &found.Module
	return code, nil
}

// stateOf describes the files of a folder: the text differs after one was written.
func stateOf(dir string) (state string, err error) {
	files, err := filesOf(dir)
	for _, path := range files {
		info, e := os.Stat(path)
		if e != nil {
			return "", e
		}
		state += fmt.Sprintln(path, info.Size(), info.ModTime())
	}
	return state, err
}
