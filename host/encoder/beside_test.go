// SPDX-License-Identifier: MIT

package encoder_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host/encoder"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/pausing"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
)

// beside is a model that generates beside the encoder of its pictures.
type beside struct {
	engine    *engine.Engine
	projector *native.Projector
	encoder   *encoder.Encoder
	scheduler *scheduler.Scheduler
	table     *piece.Table
}

// open opens the models that PENSTOCK_BENCH_MODEL and PENSTOCK_BENCH_MMPROJ name; tools/synthgguf
// writes such.
func open(b *testing.B, alternate bool) *beside {
	b.Helper()
	path, projector := os.Getenv("PENSTOCK_BENCH_MODEL"), os.Getenv("PENSTOCK_BENCH_MMPROJ")
	if path == "" || projector == "" {
		b.Skip("set PENSTOCK_BENCH_MODEL and PENSTOCK_BENCH_MMPROJ")
	}
	threads, _ := strconv.Atoi(cmp.Or(os.Getenv("PENSTOCK_BENCH_THREADS"), "0"))
	s := &beside{table: piece.NewTable()}
	var err error
	if s.engine, err = engine.Open(b.Context(), engine.Options{Path: path, Slots: 6, ContextSize: 6 * 4096, Threads: threads}); err != nil {
		b.Fatal(err)
	}
	if s.projector, _, err = s.engine.OpenProjector(projector, native.ProjectorOptions{Threads: threads, FlashAttention: os.Getenv("PENSTOCK_BENCH_FLASH")}); err != nil {
		b.Fatal(err)
	}
	passes := pausing.NewPasses()
	o := encoder.QueueOptions{Queue: 16}
	config := scheduler.Config{Slots: 6, Pieces: s.table}
	if alternate {
		o.Gate, config.Others = &passes.Encoders, passes
	}
	s.encoder = encoder.New(s.projector, o)
	if s.scheduler, err = scheduler.New(s.engine.Backend(), config); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.scheduler.Run(ctx) }()
	b.Cleanup(func() {
		s.encoder.Close()
		cancel()
		<-done
		for _, c := range []interface{ Close() error }{s.projector, s.engine} {
			if err := c.Close(); err != nil {
				b.Error(err)
			}
		}
	})
	return s
}

// submit asks for an answer.
func (s *beside) submit(b *testing.B, most int, pieces []*piece.Piece, prompt ...int32) *scheduler.Stream {
	stages, err := s.engine.NewChain(sampling.Default())
	if err != nil {
		b.Error(err)
		return nil
	}
	st, err := s.scheduler.Submit(scheduler.Request{Prompt: []scheduler.Segment{{Tokens: prompt}}, Pieces: pieces, Ending: scheduler.Ending{MaxTokens: most, IgnoreEOG: true},
		Reports: scheduler.Reports{Logprobs: -1}, Chain: stages})
	if err != nil {
		b.Error(err)
		return nil
	}
	return st
}

// generate reads answers until ctx is done, and notes the gaps between their tokens.
func (s *beside) generate(ctx context.Context, b *testing.B, seed int32) (gaps []time.Duration) {
	for round := int32(0); ctx.Err() == nil; round++ {
		st := s.submit(b, 500, nil, 40+seed, 41+round%40)
		if st == nil {
			return gaps
		}
		var last time.Time
		for ctx.Err() == nil {
			e, err := st.Next(ctx)
			if err != nil || e.End != nil {
				break
			}
			if e.Kind != scheduler.KindToken {
				continue
			}
			if now := time.Now(); last.IsZero() {
				last = now
			} else {
				gaps, last = append(gaps, now.Sub(last)), now
			}
		}
		st.Cancel()
	}
	return gaps
}

// window has four streams generate for a time, and returns the median and the longest of their
// gaps.
func (s *beside) window(b *testing.B, length time.Duration) (median, longest time.Duration) {
	ctx, cancel := context.WithTimeout(b.Context(), length)
	defer cancel()
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	for seed := range int32(4) {
		wg.Go(func() {
			gaps := s.generate(ctx, b, seed)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, gaps...)
		})
	}
	wg.Wait()
	if len(all) == 0 {
		b.Fatal("no token was generated")
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)-1]
}

// send encodes new pictures and asks about them until ctx is done, and counts them.
func (s *beside) send(ctx context.Context, b *testing.B, client string, side int) (pictures int) {
	for seed := uint64(0); ctx.Err() == nil; seed++ {
		rgb := make([]byte, 3*side*side)
		random := rand.New(rand.NewPCG(seed, uint64(client[0])))
		for i := 0; i+8 <= len(rgb); i += 8 {
			binary.LittleEndian.PutUint64(rgb[i:], random.Uint64())
		}
		hash := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), client...))
		made, err := s.encoder.Encode(ctx, encoder.Source{Hash: hash, Client: client, Decode: func(context.Context) (encoder.Media, error) {
			return encoder.Media{Width: side, Height: side, RGB: rgb}, nil
		}})
		if err != nil {
			break
		}
		var prompt []int32
		var pieces []*piece.Piece
		for i, part := range made {
			if part.Values == nil {
				prompt = append(prompt, part.Tokens...)
				continue
			}
			p := &piece.Piece{Values: part.Values, Shape: piece.Shape{Hash: sha256.Sum256(append(hash[:], byte(i))), Rows: part.Embeddings,
				Positions: part.Positions, Columns: part.Columns, Whole: part.Whole}}
			rows, err := s.table.Add(p)
			if err != nil {
				b.Error(err)
				return pictures
			}
			prompt, pieces = append(prompt, rows...), append(pieces, p)
		}
		st := s.submit(b, 4, pieces, append(prompt, 40)...)
		for st != nil {
			if e, err := st.Next(ctx); err != nil || e.End != nil {
				break
			}
		}
		pictures++
	}
	return pictures
}

// Four streams without pictures, and beside two clients who send new ones of 3500 pixels' side:
// with turns, and with an encoder that never pauses.
func BenchmarkEncoder_BesideStreams(b *testing.B) {
	seconds, _ := strconv.Atoi(cmp.Or(os.Getenv("PENSTOCK_BENCH_SECONDS"), "10"))
	for name, alternate := range map[string]bool{"turns": true, "no turns": false} {
		b.Run(name, func(b *testing.B) {
			s := open(b, alternate)
			length := time.Duration(seconds) * time.Second
			s.window(b, time.Second)
			for b.Loop() {
				median, longest := s.window(b, length)
				b.ReportMetric(float64(median.Microseconds())/1e3, "median-alone-ms")
				b.ReportMetric(float64(longest.Microseconds())/1e3, "longest-alone-ms")
				ctx, cancel := context.WithCancel(b.Context())
				var wg sync.WaitGroup
				for _, client := range []string{"a", "b"} {
					wg.Go(func() { s.send(ctx, b, client, 3500) })
				}
				before := s.encoder.Stats()
				median, longest = s.window(b, 2*length)
				b.ReportMetric(float64(s.encoder.Stats().Encoded-before.Encoded), "pictures")
				cancel()
				wg.Wait()
				b.ReportMetric(float64(median.Microseconds())/1e3, "median-ms")
				b.ReportMetric(float64(longest.Microseconds())/1e3, "longest-ms")
			}
		})
	}
}
