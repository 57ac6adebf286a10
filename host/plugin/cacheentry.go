// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/penstock/penstock/host/plugin/fuel"
)

// What a child leaves in an entry of the code cache besides checksums. The host reads the module's stub only, with which wazero
// finds the whole module's code: it would otherwise read and validate each function again, for nothing.
const (
	stubFile  = "stub.wasm"   // see fuel.Stub
	factsFile = "module.json" // a fuel.Module
	codeDir   = "code"        // wazero's, of the stub: in it lies the code of the whole module, as if it were the stub's
	wholeDir  = "whole"       // wazero's, of the whole module, while it is compiled
)

// entryName is the name of an entry: another rewriter or other limits may make another module of the same one.
func entryName(sum [sha256.Size]byte, version string, limits fuel.Limits) string {
	name := sha256.Sum256(fmt.Appendf(nil, "%x %s %+v", sum, version, limits))
	return hex.EncodeToString(name[:])
}

// errStub is the error of an entry whose code wazero did not take.
var errStub = errors.New("there is no code for this processor and this version of wazero")

// errNotKept is the error of code that wazero does not keep, as where it has no compiler for a processor.
var errNotKept = errors.New("no code was kept")

// fillEntry meters and compiles a module and leaves in dir what openEntry takes. It is what a child does.
func fillEntry(ctx context.Context, wasm []byte, dir string, limits fuel.Limits) error {
	m, e, err := compileHere(ctx, wasm, filepath.Join(dir, wholeDir), limits)
	if err != nil {
		return err
	}
	stub := fuel.Stub(m.Wasm)
	if err := e.close(); err != nil {
		return err
	}
	if e, err = newEngine(ctx, stub, filepath.Join(dir, codeDir), limits.MemoryPages); err != nil {
		return err
	}
	if err := e.close(); err != nil {
		return err
	}
	whole, err := filesOf(filepath.Join(dir, wholeDir))
	code, err2 := filesOf(filepath.Join(dir, codeDir))
	if err := errors.Join(err, err2); err != nil || len(whole) != 1 || len(code) != 1 {
		return errors.Join(errNotKept, err)
	}
	facts, err := json.Marshal(m)
	return errors.Join(err, os.Rename(whole[0], code[0]), os.RemoveAll(filepath.Join(dir, wholeDir)),
		os.WriteFile(filepath.Join(dir, stubFile), stub, 0o600), os.WriteFile(filepath.Join(dir, factsFile), facts, 0o600), seal(dir))
}

// openEntry loads a module that a child left in an entry. Its files have their checksums. An entry of no use is removed.
func openEntry(ctx context.Context, entry string, pages uint32) (_ *fuel.Module, _ *engine, err error) {
	facts, err := os.ReadFile(filepath.Join(entry, factsFile))
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(entry))
		}
	}()
	m := &fuel.Module{}
	if err := json.Unmarshal(facts, m); err != nil {
		return nil, nil, err
	}
	stub, err := os.ReadFile(filepath.Join(entry, stubFile))
	if err != nil {
		return nil, nil, err
	}
	before, err := stateOf(filepath.Join(entry, codeDir))
	if err != nil {
		return nil, nil, err
	}
	e, err := newEngine(ctx, stub, filepath.Join(entry, codeDir), pages)
	if err != nil {
		return nil, nil, err
	}
	if after, err := stateOf(filepath.Join(entry, codeDir)); err != nil || after != before { // it compiled the stub
		return nil, nil, errors.Join(errStub, err, e.close())
	}
	return m, e, nil
}

// stateOf tells the files of a folder from those that are there when one was written anew.
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
