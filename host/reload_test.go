// SPDX-License-Identifier: MIT

package host

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// reloadSource is a file that load reads; a text of "broken" cannot be used.
func reloadSource(t *testing.T) (path string, write func(text string), load func() (string, error)) {
	path = filepath.Join(t.TempDir(), "file")
	modified := time.Unix(1e9, 0)
	write = func(text string) {
		t.Helper()
		modified = modified.Add(time.Second)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, modified, modified)); err != nil {
			t.Fatal(err)
		}
	}
	load = func() (string, error) {
		text, err := os.ReadFile(path)
		if string(text) == "broken" {
			err = errors.New("it is broken")
		}
		return string(text), err
	}
	return path, write, load
}

func TestReloaded_Get_FollowsItsFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, write, load := reloadSource(t)
		write("one")
		var log bytes.Buffer
		v, err := newReloaded(slog.New(slog.NewTextHandler(&log, nil)), load, path)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct{ write, want, logged string }{
			{"", "one", ""}, {"two", "two", "were read again"}, {"broken", "two", "it is broken"}, {"", "two", ""}, {"six", "six", "were read again"},
		} {
			log.Reset()
			if step.write != "" {
				write(step.write)
			}
			if step.write != "" && v.Get() == step.write {
				t.Error("the file was looked at again within a second")
			}
			time.Sleep(reloadInterval) // virtual time
			if got := v.Get(); got != step.want {
				t.Errorf("after %q: %q, want %q", step.write, got, step.want)
			}
			if (step.logged == "") != (log.Len() == 0) || !strings.Contains(log.String(), step.logged) {
				t.Errorf("after %q the log has %q, want %q", step.write, log.String(), step.logged)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(reloadInterval)
		if got := v.Get(); got != "six" || !strings.Contains(log.String(), "no such file") {
			t.Errorf("without the file: %q, log %q", got, log.String())
		}
	})
}

// What a file names may come after the file: it is tried again, and told once.
func TestReloaded_Get_TriesAgainWithoutAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, write, load := reloadSource(t)
		write("one")
		var log bytes.Buffer
		lacks := false
		v, err := newReloaded(slog.New(slog.NewTextHandler(&log, nil)), func() (string, error) {
			if lacks {
				return "", errors.New("it names what is not there")
			}
			return load()
		}, path)
		if err != nil {
			t.Fatal(err)
		}
		write("two")
		lacks = true
		for range 3 {
			time.Sleep(reloadInterval)
			v.Get()
		}
		if n := strings.Count(log.String(), "it names what is not there"); n != 1 {
			t.Errorf("it is told %d times: %s", n, log.String())
		}
		lacks = false
		time.Sleep(reloadInterval)
		if got := v.Get(); got != "two" {
			t.Errorf("got %q", got)
		}
	})
}

func TestReloaded_Broken_Fails(t *testing.T) {
	path, write, load := reloadSource(t)
	if _, err := newReloaded(slog.New(slog.DiscardHandler), load, path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	write("broken")
	if _, err := newReloaded(slog.New(slog.DiscardHandler), load, path); err == nil {
		t.Error("a broken file was taken")
	}
}
