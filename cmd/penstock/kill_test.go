// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/steadytest"
)

// TestKill kills a server again and again, at random moments of its start and of its work, and
// starts it anew on the same folders. What it finds there is old or new, never a half. 200 kills
// with PENSTOCK_TEST_LONG=1 (make kill-test), 8 without.
func TestKill(t *testing.T) {
	kills := steadytest.InLongTest(200, 8)
	random := steadytest.Rand(t)
	d := newDisk(t)
	s := d.start(t)
	d.begin(t, s)
	for n := range kills {
		after := time.Duration(random.Int64N(int64(400 * time.Millisecond)))
		if n%4 == 3 { // in its start
			s.stop(t)
			s = &server{cmd: d.command(t)}
			if err := s.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(after)
			s.kill(t)
		} else {
			d.kill(t, s, n, after)
		}
		d.checkFiles(t)
		s = d.start(t)
		d.checkServer(t, s)
		if t.Failed() {
			t.Fatalf("kill %d, after %v:\n%s", n+1, after, &s.log)
		}
	}
	d.finish(t, s)
	if t.Failed() {
		return
	}
	t.Logf("%d of %d kills left everything whole: %d uploads and removals, %d saves, %d pulls and removals of a model were answered, and %d, %d and %d were cut; %d recordings were downloaded",
		kills, kills, d.counts["upload"], d.counts["save"], d.counts["pull"], d.cut["upload"], d.cut["save"], d.cut["pull"], d.counts["record"])
}

// kill lets the server work for a time, kills it in the middle for the nth time, and waits for its
// clients.
func (d *disk) kill(t *testing.T, s *server, n int, after time.Duration) {
	t.Helper()
	c := &client{url: s.url}
	var work sync.WaitGroup
	work.Go(func() { d.upload(t, c) })
	if n%2 == 0 {
		work.Go(func() { d.save(t, c) })
	} else { // which takes the slots' conversations
		work.Go(func() { d.record(t, c) })
	}
	work.Go(func() { d.pull(t, c) })
	time.Sleep(after)
	c.killed.Store(true)
	s.kill(t)
	work.Wait()
}

func (s *server) kill(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // it was killed
}

func (s *server) stop(t testing.TB) {
	t.Helper()
	if err := errors.Join(s.cmd.Process.Signal(syscall.SIGTERM), s.cmd.Wait()); err != nil {
		t.Errorf("exit after SIGTERM: %v\n%s", err, &s.log)
	}
}

// finish does all once more without a kill, and finds nothing else on the disk then.
func (d *disk) finish(t *testing.T, s *server) {
	t.Helper()
	c := &client{url: s.url}
	if d.model.old == "" {
		c.ask(t, http.MethodPost, "/api/pull", `{"model":"owner/name","stream":false}`, nil)
	}
	d.model.old, d.model.next = d.want, d.want
	d.checkFiles(t)
	c.ask(t, http.MethodPost, "/completion", `{"model":"tale","prompt":"Once","n_predict":4}`, nil)
	s.stop(t)
	// A child that compiles a plugin may outlive its server for a moment, and what it was writing
	// goes with the start after that.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for left := d.leftovers(t); len(left) > 0; left = d.leftovers(t) {
		if ctx.Err() != nil {
			t.Fatalf("this is left: %v", left)
		}
		d.start(t).stop(t)
	}
}

// leftovers are the paths of what is no whole thing of the disk.
func (d *disk) leftovers(t *testing.T) (left []string) {
	t.Helper()
	err := filepath.WalkDir(d.root, func(path string, _ fs.DirEntry, err error) error {
		if name := filepath.Base(path); strings.HasPrefix(name, ".") || strings.Contains(name, ".part") {
			left = append(left, path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return left
}

// TestServe_TwoOnTheSameFolders: two servers take the same uploads, saves and pulls, and do not
// disturb each other.
func TestServe_TwoOnTheSameFolders(t *testing.T) {
	d := newDisk(t)
	servers := []*server{d.start(t), d.start(t)}
	d.begin(t, servers[0])
	var work sync.WaitGroup
	pulled := make([]int, 2)
	for i, s := range servers {
		c := &client{url: s.url}
		complete(t, c)
		work.Go(func() {
			for n := range 10 {
				// Of plugin-0 both have the same versions. Others differ in length: a server that
				// looks for changes sees times in steps of milliseconds.
				version := fmt.Sprintf("%0*d", 1+n+20*i*(n%2), n)
				c.ask(t, http.MethodPost, "/v1/plugins", string(module(fmt.Sprint("plugin-", n%2), version, n%3 == 0)), nil)
			}
		})
		work.Go(func() {
			for n := range 20 {
				c.ask(t, http.MethodPost, fmt.Sprintf("/slots/%d?action=save", n%2), `{"filename":"tale.bin"}`, nil)
			}
		})
		work.Go(func() {
			status, text := c.send(t, http.MethodPost, "/api/pull", `{"model":"owner/name","stream":false}`)
			if pulled[i] = status; status != http.StatusOK && (status != http.StatusConflict || !strings.Contains(text, "already being pulled")) {
				t.Errorf("pull: %d %s", status, text)
			}
		})
	}
	work.Wait()
	if pulled[0] != http.StatusOK && pulled[1] != http.StatusOK {
		t.Errorf("both pulls were refused: %v", pulled)
	}
	d.model.next = d.want
	d.saved.next = fmt.Sprint(d.tokens[0])
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, s := range servers { // each comes to see what is there
		c := &client{url: s.url}
		for !d.agrees(t, c) && ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		if ctx.Err() != nil {
			t.Errorf("a server has other plugins than the folder:\n%s", &s.log)
		}
		d.checkModel(t)
		d.checkSaved(t)
		complete(t, c)
		s.stop(t)
	}
	if left := d.leftovers(t); len(left) > 0 {
		t.Errorf("this is left: %v", left)
	}
}
