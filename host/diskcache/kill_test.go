// SPDX-License-Identifier: MIT

package diskcache

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// writeCommand makes the test program a process that writes conversations until it is killed.
const writeCommand = "write-conversations"

func TestMain(m *testing.M) {
	spawn.Run(writeCommand, writeUntilKilled)
	os.Exit(m.Run())
}

// killedSize is how many bytes the state of a conversation of the killed process has.
func killedSize(seed int) int { return 1<<18 + seed%7*3<<18 }

// offersUntilWritten is how many offers of the killed process fill its memory: the next one waits
// until the first conversation is written.
const offersUntilWritten = 7

func writeUntilKilled(args []string) int {
	s, err := Open(Options{Dir: args[0], Bytes: 64 << 20, Memory: 1 << 24, Log: slog.Default()})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	states := &states{}
	tier := s.Tier("m", states)
	for seed := 0; ; seed = (seed + 1) % 100 {
		tier.Offer(states.conversation(tokens(600, seed), killedSize(seed)), true)
		fmt.Println("offered", seed)
	}
}

// A process may be killed at any moment: what is there after it is whole, and nothing else is.
func TestStore_Killed(t *testing.T) {
	rng := steadytest.Rand(t)
	dir := t.TempDir()
	found := 0
	for range steadytest.InLongTest(100, 5) {
		cmd := exec.Command(os.Args[0], writeCommand, dir)
		cmd.Env = append(os.Environ(), spawn.Mark(writeCommand))
		out := must.Get(cmd.StdoutPipe())(t)
		must.Do(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for n := offersUntilWritten + rng.IntN(14); n > 0 && lines.Scan(); n-- {
			if !strings.HasPrefix(lines.Text(), "offered") {
				t.Fatal(lines.Text())
			}
		}
		time.Sleep(time.Duration(rng.IntN(5)) * time.Millisecond)
		_ = cmd.Process.Kill() // it may have ended, which Wait tells
		if err := cmd.Wait(); err == nil {
			t.Fatal("it ended by itself")
		}
		w := open(t, dir, nil)
		tier := w.Tier("m", w.states)
		w.settle()
		stats := w.Stats()
		for seed := range 100 {
			if _, ok := tier.Find(kvcache.Digests(tokens(600, seed)), kvcache.Scope{}); ok {
				if found++; !w.has(tier, tokens(600, seed), kvcache.Scope{}, killedSize(seed)) {
					t.Errorf("conversation %d is not whole", seed)
				}
			}
		}
		if stats.Damaged != 0 || int(stats.Files) != len(files(t, dir)) {
			t.Errorf("%+v, %d files", stats, len(files(t, dir)))
		}
		w.end()
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != len(files(t, dir))+2 {
			t.Errorf("%d entries, %d conversations, the key and the lock: %v", len(entries), len(files(t, dir)), err)
		}
	}
	if found == 0 {
		t.Error("no conversation was written")
	}
}
