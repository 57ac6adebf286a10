// SPDX-License-Identifier: MIT

package compile

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cespare/xxhash/v2"
	"github.com/tetratelabs/wazero"

	"github.com/penstock/penstock/host/plugin/fuel"
)

// An entry of the code cache has a file and a folder, codeDir, in which wazero finds the whole
// module's code under the name that it has for the skeleton's (see fuel.Skeleton). The file:
//
//	the xxHash of all that follows, and the length of the head in bytes, as two numbers of 64 bits, little-endian
//	the head, in JSON
//	the module's skeleton
//
// The host shows wazero only the skeleton. Given the whole module, wazero would validate each
// function a second time.
const (
	headFile = "module"
	codeDir  = "code"
)

// entryFormat is raised with each change of what lies in an entry.
const entryFormat = 6

// version names the program's way to fill an entry. Where its file was replaced while it runs, the
// child is another program than the parent, so each tells its version.
func version() string { return fmt.Sprintf("%d %s", entryFormat, fuel.Version()) }

// head is what the host must know of a module in an entry.
type head struct {
	Version string      `json:"version"`
	Module  fuel.Module `json:"module"`
	Code    uint64      `json:"code"` // the xxHash of the code
}

// entryName is the name of an entry: another maker, which is a program on a kind of processor, or
// other limits may turn the same module into other code.
func entryName(sum [sha256.Size]byte, maker string, limits fuel.Limits) string {
	name := sha256.Sum256(fmt.Appendf(nil, "%x %s %+v", sum, maker, limits))
	return hex.EncodeToString(name[:])
}

var (
	// errNoCode is the error of an entry whose code wazero did not take.
	errNoCode = errors.New("there is no code for this processor and this version of wazero")
	// errDamaged is the error of what differs from what was written, by a disk or by a host that
	// was killed.
	errDamaged = errors.New("it is damaged or was not finished")
	// errOtherVersion is the error of what another program than this one made, or is to make.
	errOtherVersion = errors.New("another version of this program")
)

// fillEntry meters and compiles a module and leaves in dir what openEntry needs. If the code
// cannot be kept, the error wraps errNotKept, and the module is not compiled again.
func fillEntry(ctx context.Context, wasm []byte, dir string, limits fuel.Limits) error {
	m, err := fuel.Rewrite(wasm, limits)
	if err != nil {
		return rewriteError(err)
	}
	made := filepath.Join(dir, "made")
	code, err := makeCode(ctx, m.Wasm, made, limits.MemoryPages)
	if err != nil {
		return compileError(err)
	}
	skeleton := fuel.Skeleton(m.Wasm)
	if err := keepEntry(ctx, dir, code, skeleton, head{Version: version(), Module: *m}, limits.MemoryPages); err != nil {
		return fmt.Errorf("%w: %w", errNotKept, err)
	}
	if err := os.RemoveAll(made); err != nil {
		return fmt.Errorf("%w: %w", errNotKept, err)
	}
	return nil
}

// keepEntry puts a module's code where wazero keeps its skeleton's, and writes the file beside it.
func keepEntry(ctx context.Context, dir, code string, skeleton []byte, h head, pages uint32) error {
	of, err := makeCode(ctx, skeleton, filepath.Join(dir, codeDir), pages)
	if err != nil {
		return err
	}
	f, err := os.Open(code)
	if err != nil {
		return err
	}
	h.Code, err = sumOf(f)
	if err := errors.Join(err, f.Close(), os.Rename(code, of)); err != nil {
		return err
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return writeParts(filepath.Join(dir, headFile), prefixOf(text, skeleton), text, skeleton)
}

// prefixOf is what stands before the head.
func prefixOf(head, skeleton []byte) []byte {
	size := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	sum := xxhash.New()
	for _, part := range [][]byte{size, head, skeleton} {
		_, _ = sum.Write(part) // never fails
	}
	return append(binary.LittleEndian.AppendUint64(nil, sum.Sum64()), size...)
}

// sumOf is the checksum of what follows in a file. It finds damage and is no signature: who can
// write to the folder can write the sum too.
func sumOf(file io.Reader) (uint64, error) {
	sum := xxhash.New()
	_, err := io.Copy(sum, file)
	return sum.Sum64(), err
}

// writeParts writes a new file.
func writeParts(path string, parts ...[]byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if _, err = f.Write(part); err != nil {
			break
		}
	}
	return errors.Join(err, f.Close())
}

// openEntry loads a module from an entry. One of no use is removed, here or by replace; the error
// wraps errDamaged if a checksum is wrong. The skeleton must never run in place of the code, so
// wazero may not interpret here, and must have taken the code.
func openEntry(ctx context.Context, entry string, pages uint32) (_ *Code, err error) {
	file, err := os.ReadFile(filepath.Join(entry, headFile))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(entry))
		}
	}()
	h, skeleton, err := readHead(file)
	if err != nil {
		return nil, err
	}
	kept, err := openKept(entry, h.Code)
	if err != nil {
		return nil, err
	}
	defer kept.Close() //nolint:errcheck // it was only read
	code, err := newCode(ctx, wazero.NewRuntimeConfigCompiler(), skeleton, filepath.Join(entry, codeDir), pages)
	if err != nil {
		return nil, err
	}
	if err := isOnlyFile(kept, entry); err != nil {
		return nil, errors.Join(errNoCode, err, code.Close())
	}
	code.Metered = &h.Module
	return code, nil
}

// openKept opens the file of an entry's code and compares its checksum.
func openKept(entry string, sum uint64) (*os.File, error) {
	path, err := onlyFile(filepath.Join(entry, codeDir))
	if err != nil {
		return nil, errors.Join(errDamaged, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if is, err := sumOf(f); err != nil || is != sum {
		return nil, errors.Join(errDamaged, err, f.Close())
	}
	return f, nil
}

// isOnlyFile returns an error unless an open file of an entry's code is still the only one. If
// wazero compiles, it writes another: beside it under another name, or in its place. As the file
// is open, none can be taken for it.
func isOnlyFile(kept *os.File, entry string) error {
	path, err := onlyFile(filepath.Join(entry, codeDir))
	if err != nil {
		return err
	}
	is, err := os.Stat(path)
	if err != nil {
		return err
	}
	if was, err := kept.Stat(); err != nil || !os.SameFile(was, is) {
		return fmt.Errorf("%s was written anew: %w", path, err)
	}
	return nil
}

// readHead takes an entry's file apart.
func readHead(file []byte) (*head, []byte, error) {
	const number = 8 // bytes
	if len(file) < 2*number || xxhash.Sum64(file[number:]) != binary.LittleEndian.Uint64(file) {
		return nil, nil, errDamaged
	}
	size, rest := binary.LittleEndian.Uint64(file[number:]), file[2*number:]
	if size > uint64(len(rest)) {
		return nil, nil, errDamaged
	}
	h := &head{}
	if err := json.Unmarshal(rest[:size], h); err != nil {
		return nil, nil, err
	}
	if h.Version != version() {
		return nil, nil, errOtherVersion
	}
	return h, rest[size:], nil
}
