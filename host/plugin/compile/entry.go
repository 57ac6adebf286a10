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

// codeFile is the file in an entry of the code cache:
//
//	the length of the head in bytes and its xxHash, as two numbers of 64 bits, little-endian
//	the head, in JSON
//	the module's skeleton (see fuel.Skeleton)
//	the whole module's code, as wazero stores it
//
// The host shows wazero only the skeleton and supplies the whole module's code for it. Given the whole module, wazero would validate
// each function a second time.
const codeFile = "code"

// entryFormat is raised with each change of what lies in an entry.
const entryFormat = 5

// version names the program's way to fill an entry. Where its file was replaced while it runs, the child is another program than
// the parent, so each tells its version.
func version() string { return fmt.Sprintf("%d %s", entryFormat, fuel.Version()) }

// head is what the host must know of a module in an entry.
type head struct {
	Version  string      `json:"version"`
	Key      storeKey    `json:"key"` // of the skeleton's code
	Module   fuel.Module `json:"module"`
	Skeleton int         `json:"skeleton"` // bytes
	Code     int         `json:"code"`     // bytes
	Sums     []uint64    `json:"sums"`     // of the pieces of both
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
	var made collector
	code, err := newCode(ctx, newConfig(), m.Wasm, &made, limits.MemoryPages)
	if err != nil {
		return compileError(err)
	}
	if err := code.Close(); err != nil || made.code == nil {
		return errors.Join(errNotKept, err)
	}
	skeleton := fuel.Skeleton(m.Wasm)
	var asked asker
	if code, err := newCode(ctx, newConfig(), skeleton, &asked, limits.MemoryPages); !errors.Is(err, errNoCode) {
		if err == nil {
			err = code.Close()
		}
		return fmt.Errorf("%w: wazero does not ask for code: %w", errNotKept, err)
	}
	text, err := json.Marshal(head{version(), asked.key, *m, len(skeleton), len(made.code), sumPieces(skeleton, made.code)})
	if err := errors.Join(err, writeParts(filepath.Join(dir, codeFile), prefixOf(text), text, skeleton, made.code)); err != nil {
		return fmt.Errorf("%w: %w", errNotKept, err)
	}
	return nil
}

// prefixOf is what stands before the head.
func prefixOf(head []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	return binary.LittleEndian.AppendUint64(b, xxhash.Sum64(head))
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

// openEntry loads a module from an entry. One of no use is removed, here or by replace; the error wraps errDamaged if its checksums are
// wrong. The skeleton must never run in place of the code, so wazero may not interpret here, and must have taken the code.
func openEntry(ctx context.Context, entry string, pages uint32) (_ *Code, err error) {
	f, err := os.Open(filepath.Join(entry, codeFile))
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = f.Close() // it was only read
		if err != nil {
			err = errors.Join(err, os.RemoveAll(entry))
		}
	}()
	h, err := readHead(f)
	if err != nil {
		return nil, err
	}
	content := &pieces{from: f, left: int64(h.Skeleton + h.Code), sums: h.Sums}
	skeleton := make([]byte, h.Skeleton)
	if _, err := io.ReadFull(content, skeleton); err != nil {
		return nil, err
	}
	from := &supplier{key: h.Key, code: content}
	code, err := newCode(ctx, wazero.NewRuntimeConfigCompiler(), skeleton, from, pages)
	if err != nil {
		return nil, errors.Join(err, content.err)
	}
	if !from.supplied {
		return nil, errors.Join(errNoCode, code.Close())
	}
	code.Metered = &h.Module
	return code, nil
}

// readHead reads an entry's file up to the skeleton.
func readHead(f *os.File) (*head, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var prefix [16]byte
	if _, err := io.ReadFull(f, prefix[:]); err != nil {
		return nil, errors.Join(errDamaged, err)
	}
	left := info.Size() - int64(len(prefix))
	size := binary.LittleEndian.Uint64(prefix[:])
	if size > uint64(left) {
		return nil, errDamaged
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(f, text); err != nil || xxhash.Sum64(text) != binary.LittleEndian.Uint64(prefix[8:]) {
		return nil, errors.Join(errDamaged, err)
	}
	h := &head{}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, err
	}
	if h.Version != version() {
		return nil, errOtherVersion
	}
	left -= int64(size)
	if h.Skeleton < 0 || h.Code < 0 || int64(h.Skeleton) > left || int64(h.Code) != left-int64(h.Skeleton) {
		return nil, errDamaged
	}
	return h, nil
}
