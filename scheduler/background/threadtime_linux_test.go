// SPDX-License-Identifier: MIT

package background

import (
	"runtime"
	"testing"
	"time"
)

// Waiting costs nothing, whatever others do meanwhile; work costs what it takes.
func TestThreadTime_CountsOwnWorkOnly(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spin := func(until time.Duration) {
		for begin := ThreadTime(); ThreadTime()-begin < until; {
		}
	}
	begin := ThreadTime()
	spin(5 * time.Millisecond)
	if used := ThreadTime() - begin; used < 5*time.Millisecond || used > time.Second {
		t.Errorf("5 ms of work counted as %v", used)
	}
	busy := make(chan struct{})
	begin = ThreadTime()
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		spin(50 * time.Millisecond)
		close(busy)
	}()
	<-busy
	if used := ThreadTime() - begin; used > 25*time.Millisecond {
		t.Errorf("waiting counted as %v", used)
	}
}
