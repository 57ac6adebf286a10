// SPDX-License-Identifier: MIT

package atomicfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// asWriter makes the test binary a process that begins to write a file and a folder there, says
// so, and goes on when its standard input ends.
const asWriter = "PENSTOCK_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asWriter); dir != "" {
		if err := writeSlowly(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func writeSlowly(dir string) error {
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	temp, release, err := MkdirTemp(dir)
	if err != nil {
		return err
	}
	defer release()
	alone, err := OpenAlone(filepath.Join(dir, "alone"), 0o600)
	if err != nil {
		return err
	}
	defer alone.Close()
	_, err = Write(folder, "file", 0o600, func(w io.Writer) error {
		if _, err := io.WriteString(w, "ne"); err != nil {
			return err
		}
		fmt.Println("writing")
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return err
		}
		_, err := io.WriteString(w, "w")
		return err
	})
	return errors.Join(err, os.Rename(temp, filepath.Join(dir, "folder")))
}

// writer is a process that is writing.
type writer struct {
	*exec.Cmd
	goOn io.Closer
}

func startWriter(t *testing.T, dir string) writer {
	t.Helper()
	self := must.Get(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), asWriter+"="+dir)
	in := must.Get(cmd.StdinPipe())(t)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "writing\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return writer{cmd, in}
}

// folderWith is a folder with a file of these contents.
func folderWith(t *testing.T, contents string) string {
	t.Helper()
	dir := t.TempDir()
	must.Get(WriteBytes(filepath.Join(dir, "file"), 0o600, []byte(contents)))(t)
	return dir
}

// expect compares a folder's file, and the number of its entries.
func expect(t *testing.T, dir, contents string, entries int) {
	t.Helper()
	if have, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(have) != contents {
		t.Errorf("the file has %q, %v; want %q", have, err, contents)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != entries {
		t.Errorf("the folder has %v, %v; want %d entries", all, err, entries)
	}
}

func TestWrite_Fails_LeavesTheOld(t *testing.T) {
	dir := folderWith(t, "old")
	folder := must.Get(os.OpenRoot(dir))(t)
	defer folder.Close()
	broken := errors.New("broken")
	if _, err := Write(folder, "file", 0o600, func(w io.Writer) error {
		_, _ = io.WriteString(w, "ne")
		expect(t, dir, "old", 2)
		return broken
	}); !errors.Is(err, broken) {
		t.Error(err)
	}
	expect(t, dir, "old", 1)
	must.Do(t, os.Mkdir(filepath.Join(dir, "taken"), 0o700))
	if _, err := WriteBytes(filepath.Join(dir, "taken"), 0o600, nil); err == nil {
		t.Error("a folder was replaced")
	}
	expect(t, dir, "old", 2)
}

func TestWriteBytes_DescribesTheFile(t *testing.T) {
	dir := folderWith(t, "old")
	info := must.Get(WriteBytes(filepath.Join(dir, "file"), 0o644, []byte("newer")))(t)
	expect(t, dir, "newer", 1)
	there, err := os.Stat(filepath.Join(dir, "file"))
	if err != nil || there.Size() != info.Size() || !there.ModTime().Equal(info.ModTime()) || !os.SameFile(there, info) {
		t.Errorf("told %v, there is %v, %v", info, there, err)
	}
}

func TestRename_Remove(t *testing.T) {
	dir := folderWith(t, "old")
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	if err := errors.Join(Rename(path, other), Rename(other, path), Remove(other)); err != nil {
		t.Error(err)
	}
	expect(t, dir, "old", 1)
	if err := Remove(path); err != nil {
		t.Error(err)
	}
	if err := Rename(path, other); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestMkdirAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b")
	for range 2 {
		if err := MkdirAll(path, 0o700); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{file, filepath.Join(file, "a")} {
		if err := MkdirAll(path, 0o700); err == nil {
			t.Errorf("%s was made", path)
		}
	}
}

// What a living process writes is not touched, and it ends well.
func TestRemoveLeftovers_OfTheLiving_Stay(t *testing.T) {
	dir := folderWith(t, "old")
	w := startWriter(t, dir)
	if _, err := OpenAlone(filepath.Join(dir, "alone"), 0o600); !errors.Is(err, ErrInUse) {
		t.Errorf("a file that another process has for itself: %v", err)
	}
	for range 3 {
		if err := RemoveLeftovers(dir); err != nil {
			t.Error(err)
		}
		expect(t, dir, "old", 4)
	}
	if err := errors.Join(w.goOn.Close(), w.Wait()); err != nil {
		t.Error(err)
	}
	expect(t, dir, "new", 3)
	if _, err := os.Stat(filepath.Join(dir, "folder")); err != nil {
		t.Error(err)
	}
}

func TestRemoveLeftovers_OfTheKilled_Go(t *testing.T) {
	dir := folderWith(t, "old")
	w := startWriter(t, dir)
	must.Do(t, w.Process.Kill())
	if err := w.Wait(); err == nil {
		t.Error("it was not killed")
	}
	expect(t, dir, "old", 4)
	if err := RemoveLeftovers(dir); err != nil {
		t.Error(err)
	}
	expect(t, dir, "old", 2)
	file := must.Get(OpenAlone(filepath.Join(dir, "alone"), 0o600))(t)
	file.Close()
	if err := RemoveLeftovers(filepath.Join(dir, "absent")); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// However often others begin, everything that is written is there, and whole.
func TestRemoveLeftovers_AmongWriters(t *testing.T) {
	dir := folderWith(t, "")
	path, stop := filepath.Join(dir, "file"), make(chan struct{})
	var writers, others sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for range 50 {
				if _, err := WriteBytes(path, 0o600, bytes.Repeat([]byte{byte('a' + i)}, 9000)); err != nil {
					t.Error(err)
				}
				temp, release, err := MkdirTemp(dir)
				if err != nil {
					t.Error(err)
					continue
				}
				if err := os.WriteFile(filepath.Join(temp, "inner"), nil, 0o600); err != nil {
					t.Error(err)
				}
				if err := os.RemoveAll(temp); err != nil {
					t.Error(err)
				}
				release()
			}
		})
	}
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := RemoveLeftovers(dir); err != nil {
				t.Error(err)
			}
			if have, err := os.ReadFile(path); err != nil || len(have) > 0 && !bytes.Equal(have, bytes.Repeat(have[:1], 9000)) {
				t.Errorf("%d bytes, %v", len(have), err)
			}
		}
	})
	writers.Wait()
	close(stop)
	others.Wait()
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("%v is left, %v", all, err)
	}
}
