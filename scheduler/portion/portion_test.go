// SPDX-License-Identifier: MIT

package portion

import (
	"fmt"
	"testing"

	"github.com/penstock/penstock/tools/steadytest"
)

func TestPool_Take_HalfOfWhatOthersLeave(t *testing.T) {
	p := Pool{Limit: 100, Least: 2}
	take := func(caller string) (n int) {
		for p.Take(caller, 1) == Taken {
			n++
		}
		return n
	}
	for i, want := range []int{50, 25, 13, 6, 3, 2, 1, 0} {
		if got := take(fmt.Sprint("caller ", i)); got != want {
			t.Errorf("caller %d has %d, want %d", i, got, want)
		}
	}
	if got := p.Take("caller 9", 1); got != TooFew {
		t.Errorf("when all is taken: %v", got)
	}
	if got := p.Take("caller 1", 1); got != Enough {
		t.Errorf("then one that has its share: %v", got)
	}
	p.Give("caller 0", 50)
	if got := take("caller 9"); got != 25 {
		t.Errorf("of 50 that are free again a caller has %d", got)
	}
	if got := p.Take("caller 9", 1); got != Enough {
		t.Errorf("its share is full: %v", got)
	}
	if got := p.Take("", 26); got != TooFew {
		t.Errorf("nobody in particular takes more than there are: %v", got)
	}
	if got := p.Take("", 25); got != Taken {
		t.Errorf("nobody in particular takes what is left: %v", got)
	}
	if p := (Pool{Limit: 12, Free: 4}); p.Most() != 8 || p.Take("a", 8) != Taken || p.Take("b", 5) != TooFew || p.Take("b", 4) != Taken {
		t.Error("each has four besides half of what is left")
	}
	p = Pool{Limit: 100}
	if p.Take("a", 50) != Taken || p.Take("b", 30) != TooFew || p.Take("b", 51) != Enough || p.Most() != 50 {
		t.Error("who has nothing is refused for others, unless it asks for more than anybody may have")
	}
}

// Whatever is taken and given back, nothing is lost, and a caller that has nothing finds some while
// others have half of the rest each.
func TestPool_World(t *testing.T) {
	r := steadytest.Rand(t)
	p := Pool{Limit: 1 + r.Int64N(1000), Least: r.Int64N(3)}
	has := map[string]int64{}
	var all int64
	for range 10000 {
		caller := fmt.Sprint(r.IntN(5))
		if n := r.Int64N(20); r.IntN(2) == 0 {
			if p.Take(caller, n) == Taken {
				has[caller] += n
				all += n
			}
		} else if n = min(n, has[caller]); n > 0 {
			p.Give(caller, n)
			has[caller] -= n
			all -= n
		}
		if p.used != all || all > p.Limit || p.by[caller] != has[caller] {
			t.Fatalf("%d are used, %d taken, of %d; %s has %d, %d", p.used, all, p.Limit, caller, p.by[caller], has[caller])
		}
	}
}
