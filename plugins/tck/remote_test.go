// SPDX-License-Identifier: MIT

package tck

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

func TestNeighbours_Stop_TellsWhoWasDisturbed(t *testing.T) {
	for name, disturb := range map[string]func(n int) (string, error){
		"another text": func(n int) (string, error) { return "disturbed", nil },
		"an error":     func(n int) (string, error) { return "", errors.New("disturbed") },
	} {
		var asked atomic.Int32
		stop := must.Get(Neighbours(func(n int) (string, error) {
			if n == 3 && asked.Load() >= neighbours {
				return disturb(n)
			}
			asked.Add(1)
			return fmt.Sprint("answer ", n), nil
		}))(t)
		for asked.Load() < 10*neighbours { // until the others had some answers
		}
		if err := stop(); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNeighbours_Stop_AllIsWell(t *testing.T) {
	var asked [neighbours]atomic.Int32
	stop := must.Get(Neighbours(func(n int) (string, error) {
		asked[n].Add(1)
		return "same", nil
	}))(t)
	for n := range asked {
		for asked[n].Load() < 3 { // the first of them was before
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := Neighbours(func(int) (string, error) { return "", nil }); err == nil {
		t.Error("no text is no neighbour")
	}
}

// A case may be over before any neighbour's goroutine has run, on a busy machine; each asks once
// beside it nevertheless.
func TestNeighbours_Stop_AtOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var asked atomic.Int32
	stop := must.Get(Neighbours(func(int) (string, error) {
		asked.Add(1)
		return "same", nil
	}))(t)
	if err := stop(); err != nil || asked.Load() < 2*neighbours {
		t.Errorf("%d answers, %v", asked.Load(), err)
	}
}
