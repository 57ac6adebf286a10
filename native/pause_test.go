// SPDX-License-Identifier: MIT

package native

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/native/gguf/synth"
)

// watched counts how often it is asked whether it is done.
type watched struct {
	context.Context
	asked atomic.Int32
}

func (c *watched) Err() error {
	c.asked.Add(1)
	return c.Context.Err()
}

// longMedia is a pair with a sound of half a minute, whose operations are computed in parts.
func longMedia(t *testing.T, threads int, ownKernels bool) (*Projector, *Media) {
	t.Helper()
	m := openMedia(t, synth.MediaPair{Projector: "ultravox", Text: "llama"}, ContextOptions{})
	useOwnKernels(ownKernels)
	p := openProjectorFile(t, m.model, m.path, ProjectorOptions{Threads: threads})
	samples := make([]float32, 30*p.Info().SampleRate)
	for i := range samples {
		samples[i] = float32(0.4 * math.Sin(float64(i)*float64(i%977)))
	}
	media, err := p.Sound(samples)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, media) })
	return p, media
}

// While it is paused, an encode computes nothing, from its first operation on or in the middle;
// then it goes on, and what it gives is the same to the bit, in whatever parts it is computed.
func TestProjector_Pause(t *testing.T) {
	for _, ownKernels := range []bool{false, true} {
		t.Run(fmt.Sprintf("own kernels %v", ownKernels), func(t *testing.T) { testPause(t, ownKernels) })
	}
}

func testPause(t *testing.T, ownKernels bool) {
	t.Helper()
	var want []float32
	for _, threads := range []int{1, 2, 3} {
		p, media := longMedia(t, threads, ownKernels)
		whole, err := p.Encode(t.Context(), media, 0)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = whole
		}
		if !slices.Equal(whole, want) {
			t.Errorf("%d threads give other embeddings than one", threads)
		}
		c := &watched{Context: t.Context()}
		p.Pause()
		ended := make(chan []float32)
		go func() {
			values, err := p.Encode(c, media, 0)
			if err != nil {
				t.Error(err)
			}
			ended <- values
		}()
		for c.asked.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		select {
		case <-ended:
			t.Error("a paused encode ended")
		case <-time.After(50 * time.Millisecond):
		}
		if n := c.asked.Load(); n != 1 { // before it began
			t.Errorf("a paused encode asked %d times", n)
		}
		p.Resume()
		if got := <-ended; !slices.Equal(got, want) {
			t.Errorf("%d threads: after a pause, it gives something else", threads)
		}
	}
}

// Pauses at any time, of any length, and ends while paused leave the embeddings as they are.
func TestProjector_Pause_Hammer(t *testing.T) {
	p, media := longMedia(t, 3, true)
	want, err := p.Encode(t.Context(), media, 0)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for pauses := 0; ; pauses++ {
			select {
			case <-done:
				return
			default:
			}
			p.Pause()
			time.Sleep(time.Duration(pauses%7) * 100 * time.Microsecond)
			p.Resume()
			time.Sleep(time.Duration(pauses%5) * 200 * time.Microsecond)
		}
	})
	for i := range 6 {
		ctx, cancel := context.WithCancel(t.Context())
		if i%2 == 1 { // somewhere in the middle, and the next one is as if nothing had been
			time.AfterFunc(time.Duration(i)*5*time.Millisecond, cancel)
		}
		if got, err := p.Encode(ctx, media, 0); err == nil && !slices.Equal(got, want) || err != nil && i%2 == 0 {
			t.Errorf("%d: other embeddings, or %v", i, err)
		}
		cancel()
	}
	close(done)
	wg.Wait()
}
