// SPDX-License-Identifier: MIT

package compile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// cached are the files of compiled code in a folder, and their bytes.
func cached(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files, err := filesOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for _, path := range files {
		if found[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// answering is a guest whose accept answers with whether a token is even.
func answering() *asm.Guest {
	return newGuest("guest").On(abi.ExportAccept, asm.Local(0), asm.I32(1), []byte{0x71}, []byte{0x45})
}

// runIn compiles answering, or a guest like it, with its code in a folder, runs it, and returns
// what was logged.
func runIn(t *testing.T, dir string, g *asm.Guest) string {
	t.Helper()
	c, log := newCompiler(t, dir)
	r := run(t, c, g)
	for token, want := range []int32{1, 0} {
		if answer, err := r.accept(int32(token)); err != nil || answer != want {
			t.Fatalf("token %d: %d, %v", token, answer, err)
		}
	}
	return log.String()
}

// What is damaged is compiled anew and never run: the checksum, the offsets of
// functions, the code, the end. An entry without a checksum is none, and is made anew too.
func TestCache_Damage_IsCompiledAnew(t *testing.T) {
	inChild := func() *asm.Guest {
		return answering().Function(abi.Signature{}, 0, bytes.Repeat([]byte{0x01}, worthAChild))
	}
	for name, tc := range map[string]struct {
		guest func() *asm.Guest
		bytes int // that are damaged, one at a time
	}{"here": {answering, 40}, "in a child": {inChild, 5}} {
		t.Run(name, func(t *testing.T) {
			guest := tc.guest
			dir := t.TempDir()
			if log := runIn(t, dir, guest()); log != "" {
				t.Errorf("at first: %s", log)
			}
			if log := runIn(t, dir, guest()); log != "" {
				t.Errorf("from the cache: %s", log)
			}
			whole := cached(t, dir)
			if len(whole) != 2 {
				t.Fatalf("%d files are cached", len(whole))
			}
			for path, good := range whole {
				for what, bad := range damaged(good, tc.bytes) {
					must.Do(t, os.WriteFile(path, bad, 0o600))
					if log := runIn(t, dir, guest()); !strings.Contains(log, "compiled anew") {
						t.Errorf("%s: nothing was said: %s", what, log)
					}
					if !bytes.Equal(cached(t, dir)[path], good) {
						t.Errorf("%s: the entry was not fixed", what)
					}
				}
				must.Do(t, os.Remove(path))
				if log := runIn(t, dir, guest()); strings.Contains(log, "compiled anew") == (filepath.Base(path) == sumFile) || !bytes.Equal(cached(t, dir)[path], good) {
					t.Errorf("%s is missing: the entry was not fixed, or not what is there was said: %s", path, log)
				}
			}
		})
	}
}

// damaged are contents of a file that was damaged in several ways, and in n of its bytes.
func damaged(good []byte, n int) map[string][]byte {
	all := map[string][]byte{"empty": nil, "half": good[:len(good)/2], "longer": append(bytes.Clone(good), 0)}
	for at := 0; at < len(good); at += max(1, len(good)/n) {
		bad := bytes.Clone(good)
		bad[at] ^= 0x40
		all[fmt.Sprintf("byte %d", at)] = bad
	}
	return all
}

func TestCache_Size_IsBounded(t *testing.T) {
	dir := t.TempDir()
	c := must.Get(openCache(dir, 1<<20, slog.New(slog.DiscardHandler)))(t)
	fill := func(module string, size int) {
		entry := c.entryPath(module)
		must.Do(t, errors.Join(os.Mkdir(entry, 0o700), os.WriteFile(filepath.Join(entry, sumFile), make([]byte, size), 0o600)))
		c.markUsed(entry)
		must.Do(t, c.evict(module))
	}
	kept := func(module string) bool { return len(cached(t, c.entryPath(module))) > 0 }
	fill("a", 300<<10)
	fill("b", 300<<10)
	fill("c", 300<<10)
	c.markUsed(c.entryPath("a")) // used again
	fill("d", 300<<10)
	if !kept("a") || kept("b") || !kept("c") || !kept("d") {
		t.Errorf("kept: a %v, b %v, c %v, d %v; b was not used for longest", kept("a"), kept("b"), kept("c"), kept("d"))
	}
	fill("e", 2<<20)
	if kept("a") || kept("c") || kept("d") || !kept("e") {
		t.Error("what is in use was removed, or not everything else")
	}
}

// A folder that somebody else may write to is not used: its code would be run as this user.
func TestOpenCache_RefusesWhatOthersMayWrite(t *testing.T) {
	for _, mode := range []fs.FileMode{0o777, 0o770, 0o702} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil { //nolint:gosec // that is the point
			t.Fatal(err)
		}
		if log := runIn(t, dir, answering()); !strings.Contains(log, "can be written to by others") {
			t.Errorf("mode %v: %s", mode, log)
		}
		if len(cached(t, dir)) > 0 {
			t.Errorf("mode %v: the folder was used", mode)
		}
		inner := filepath.Join(dir, "code")
		if log := runIn(t, inner, answering()); mode != 0o770 && !strings.Contains(log, "can be written to by everybody") {
			t.Errorf("in a folder of mode %v: %s", mode, log)
		}
	}
}

func TestOpenCache_RefusesTheFolderOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	dir := t.TempDir()
	must.Do(t, os.Chown(dir, 65534, -1))
	if log := runIn(t, dir, answering()); !strings.Contains(log, "belongs to user 65534") {
		t.Error(log)
	}
	if log := runIn(t, filepath.Join(dir, "code"), answering()); !strings.Contains(log, "belongs to user 65534") {
		t.Error(log)
	}
}

// A disk that is full, or a folder that went away, costs time and nothing else.
func TestCache_CannotBeWritten_CompilesAllTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "code")
	c, _ := newCompiler(t, dir)
	must.Do(t, os.RemoveAll(dir))
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // no folder can be made there
		t.Fatal(err)
	}
	run(t, c, answering())
}
