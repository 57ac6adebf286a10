// SPDX-License-Identifier: MIT

package compile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/penstock/penstock/host/plugin/fuel"
)

// An entry of the code cache has a folder in which wazero keeps the metered module's code, and a
// file with the xxHash of that code, in hexadecimal.
const (
	codeDir = "code"
	sumFile = "sum"
)

// entryFormat is raised with each change of what lies in an entry.
const entryFormat = 7

// version names the program's way to fill an entry. Where its file was replaced while it runs, the
// child is another program than the parent, so each tells its version.
func version() string { return fmt.Sprintf("%d %s", entryFormat, fuel.Version()) }

// entryName is the name of an entry: another maker, which is a program on a kind of processor, or
// other limits may turn the same module into other code.
func entryName(sum [sha256.Size]byte, maker string, limits fuel.Limits) string {
	name := sha256.Sum256(fmt.Appendf(nil, "%x %s %+v", sum, maker, limits))
	return hex.EncodeToString(name[:])
}

var (
	// errDamaged is the error of what differs from what was written, by a disk or by a host that
	// was killed.
	errDamaged = errors.New("it is damaged or was not finished")
	// errOtherVersion is the error of what another program than this one is to make.
	errOtherVersion = errors.New("another version of this program")
)

// fillEntry meters and compiles a module and leaves in dir what openEntry needs. If the code
// cannot be kept, the error wraps errNotKept, and the module is not compiled again.
func fillEntry(ctx context.Context, wasm []byte, dir string, limits fuel.Limits) error {
	m, err := fuel.Rewrite(wasm, limits)
	if err != nil {
		return rewriteError(err)
	}
	path, err := makeCode(ctx, m.Wasm, filepath.Join(dir, codeDir))
	if err != nil {
		return compileError(err)
	}
	sum, err := sumOf(path)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, sumFile), []byte(sum), 0o600)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotKept, err)
	}
	return nil
}

// sumOf is the checksum of a file. It finds damage and is no signature: who can write to the
// folder can write the sum too.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	sum := xxhash.New()
	_, err = io.Copy(sum, f)
	return strconv.FormatUint(sum.Sum64(), 16), err
}

// openEntry loads a module, with its code from an entry. One of no use is removed; the error wraps
// errDamaged if the checksum is wrong. Code that wazero does not take for this processor or its
// own version it makes anew.
func openEntry(ctx context.Context, wasm []byte, entry string, limits fuel.Limits) (_ *Code, err error) {
	want, err := os.ReadFile(filepath.Join(entry, sumFile))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(entry))
		}
	}()
	path, err := onlyFile(filepath.Join(entry, codeDir))
	if err != nil {
		return nil, errors.Join(errDamaged, err)
	}
	if sum, err := sumOf(path); err != nil || sum != string(want) {
		return nil, errors.Join(errDamaged, err)
	}
	return compileHere(ctx, wasm, limits, filepath.Join(entry, codeDir))
}
