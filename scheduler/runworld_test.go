// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// slowSeer is a drafter that takes time, as a model does, and tells if it computes in another's
// turn.
type slowSeer struct {
	seer
	t         *testing.T
	computing *sync.Mutex
}

func (d *slowSeer) Draft(asks []*draft.Ask) {
	if !d.computing.TryLock() {
		d.t.Error("a drafter computes beside a pass")
		return
	}
	defer d.computing.Unlock()
	time.Sleep(time.Duration(len(asks)) * time.Millisecond)
	d.seer.Draft(asks)
}

// exclusive is a backend whose passes are the only thing that computes.
type exclusive struct {
	*schedulertest.Machine
	computing *sync.Mutex
}

func (b *exclusive) Start(batch *scheduler.Batch) error {
	if !b.computing.TryLock() {
		panic("two passes at once")
	}
	return b.Machine.Start(batch)
}

func (b *exclusive) Wait() error {
	defer b.computing.Unlock()
	return b.Machine.Wait()
}

// TestScheduler_RandomRun_KeepsItsPromises: two schedulers run as they do in a host, with all that
// wakes them: they sleep when nothing is to be done, and every caller and every reader is
// answered. A lost wake-up leaves all goroutines of the bubble waiting, which ends the test.
func TestScheduler_RandomRun_KeepsItsPromises(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runWorld(t, rand.New(rand.NewPCG(seed, 11))) })
		})
	}
}

func runWorld(t *testing.T, rng *rand.Rand) {
	ctx, stop := context.WithCancel(t.Context())
	turns, computing := scheduler.NewComputeLock(), new(sync.Mutex)
	var running, clients sync.WaitGroup
	for range 2 {
		b := schedulertest.New(scheduler.Limits{Cells: 2048, Context: 512, Batch: 128})
		b.Cost, b.CopyCost = flat, time.Duration(rng.IntN(3))*20*time.Microsecond
		var drafter draft.Drafter
		if rng.IntN(2) == 0 {
			drafter = &slowSeer{seer{backend: b, rng: rand.New(rand.NewPCG(rng.Uint64(), 1)), errs: 0.2}, t, computing}
		}
		album := b.NewAlbum(rng, rng.IntN(2)*5, 40)
		s := must.Get(scheduler.New(&exclusive{schedulertest.NewMachine(b, 2), computing}, scheduler.Config{Slots: 1 + rng.IntN(4), Drafter: drafter, Pieces: b.Pieces,
			ArchiveBytes: int64(rng.IntN(2)) << 13, ComputeLock: turns}))(t)
		running.Go(func() { _ = s.Run(ctx) })
		for range 12 {
			own := rand.New(rand.NewPCG(rng.Uint64(), 2))
			clients.Go(func() { (&runClient{t: t, s: s, b: b, album: &album, rng: own}).live(ctx) })
		}
	}
	clients.Wait()
	stop()
	running.Wait()
}

// runClient makes requests one after the other, reads the answers at its own pace and steers them.
type runClient struct {
	t   *testing.T
	s   *scheduler.Scheduler
	b   *schedulertest.Backend // of its functions those that change nothing
	rng *rand.Rand

	album *schedulertest.Album // of pictures for prompts
}

func (c *runClient) rest(most time.Duration) { time.Sleep(time.Duration(c.rng.Int64N(int64(most)))) }

func (c *runClient) live(ctx context.Context) {
	for range 1 + c.rng.IntN(5) {
		if c.rng.IntN(3) > 0 {
			c.rest(3 * time.Second)
		}
		r := request(1+c.rng.IntN(300), c.rng.IntN(3), c.rng.IntN(60))
		r.Buffer, r.Logprobs = 8, c.rng.IntN(2)-1
		if len(c.album.Pieces) > 0 && c.rng.IntN(2) == 0 {
			r = pictured(c.rng, c.album, r)
		}
		if c.rng.IntN(4) == 0 {
			r.Chain = []chain.Stage{&weaver{rng: rand.New(rand.NewPCG(c.rng.Uint64(), 1)), hold: c.rng.IntN(9)}, schedulertest.Sampled{}}
		}
		if c.rng.IntN(4) == 0 {
			r.Deadline = time.Now().Add(time.Duration(c.rng.Int64N(int64(time.Second))))
		}
		if c.rng.IntN(10) == 0 {
			r.Chain = unable(nil)
		}
		arrived := c.s.Expect()
		c.rest(5 * time.Millisecond)
		st, err := c.s.Submit(r)
		arrived()
		if err != nil {
			c.t.Error(err)
			continue
		}
		var steering sync.WaitGroup
		reader, steerer := rand.New(rand.NewPCG(c.rng.Uint64(), 3)), rand.New(rand.NewPCG(c.rng.Uint64(), 4))
		steering.Go(func() { c.read(ctx, st, r, reader) })
		if c.rng.IntN(2) == 0 {
			steering.Go(func() { c.steer(ctx, st, steerer) })
		}
		steering.Wait()
	}
}

// read reads an answer to its end.
func (c *runClient) read(ctx context.Context, st *scheduler.Stream, r scheduler.Request, rng *rand.Rand) {
	var a received
	for a.end == nil {
		e, err := st.Next(ctx)
		if err != nil {
			c.t.Error(err)
			return
		}
		if a.take(e); rng.IntN(8) == 0 {
			time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
		}
	}
	for _, expected := range []error{nil, scheduler.ErrDeadline, errBegin, answer.ErrSpliceLimit} {
		if errors.Is(a.end.Err, expected) {
			c.verify(st, r, a)
			return
		}
	}
	c.t.Errorf("an answer has ended with %v", a.end.Err)
}

func (c *runClient) verify(st *scheduler.Stream, r scheduler.Request, a received) {
	if a.end.Reason != answer.ReasonLength {
		return // its background sampler may be at work
	}
	tokens, prompt := scheduler.Conversation(st)
	for i, want := range c.b.After(tokens, prompt, r) {
		if got := tokens[prompt+i]; got != want && !slices.Contains(foreign, got) {
			c.t.Errorf("token %d of an answer is %d, the model says %d", i, got, want)
			return
		}
	}
}

// steer has done what clients do, until the answer ends. It always resumes what it pauses.
func (c *runClient) steer(ctx context.Context, st *scheduler.Stream, rng *rand.Rand) {
	for range 1 + rng.IntN(4) {
		time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
		var err error
		switch rng.IntN(5) {
		case 0:
			err = st.Pause(ctx)
			time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
			err = errors.Join(err, st.Resume(ctx))
		case 1:
			err = st.Inject(ctx, foreign[:1+rng.IntN(len(foreign))])
		case 2:
			err = st.Rewind(ctx, 1+rng.IntN(4))
		case 3:
			short, leave := context.WithTimeout(ctx, time.Duration(rng.IntN(20))*time.Millisecond)
			err = st.Inject(short, foreign)
			leave()
		case 4:
			if rng.IntN(3) == 0 {
				st.Cancel()
			}
		}
		for _, unexpected := range []error{scheduler.ErrClosed, context.Canceled} {
			if errors.Is(err, unexpected) {
				c.t.Error(err)
			}
		}
	}
}
