// SPDX-License-Identifier: MIT

package archs

import (
	"slices"

	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/scheduler"
)

// situations are the ways in which an answer comes about, each with the answers to compare.
var situations = []struct {
	name string
	run  func(*server) []pair
}{
	{"in a busy batch", busy},
	{"after rewinds", rewound},
	{"preempted", preempted},
	{"from the archive", archived},
	{"with a shared prefix", shared},
}

// pair is an answer and how it was alone.
type pair struct{ got, want answer }

// alone answers a prompt while nothing else is computed, and from its first token on.
func (s *server) alone(prompt []int32) answer {
	s.Helper()
	return s.ask(prompt, manner{fresh: true}).whole()
}

// busy has prompts of all lengths twice in the queue, so that some are computed while others
// decode.
func busy(s *server) (pairs []pair) {
	var requests []scheduler.Request
	for _, mute := range []bool{false, true} {
		for _, p := range prompts() {
			requests = append(requests, s.request(p, manner{mute: mute}))
		}
	}
	for i, st := range s.askAll(requests...) {
		pairs = append(pairs, pair{st.whole(), s.reference[i%len(s.reference)]})
	}
	return pairs
}

// rewound takes tokens back: the last few, then many, some of which were wrong.
func rewound(s *server) (pairs []pair) {
	for i, p := range prompts()[1:3] {
		st := s.ask(p, manner{held: true})
		st.read(20)
		st.rewindTo(17)
		st.read(30)
		st.pause()
		at := st.generated()
		st.do(st.Inject(st.Context(), words(100, 3)))
		st.resume()
		st.read(at + 15)
		st.rewindTo(at - 8)
		pairs = append(pairs, pair{st.whole(), s.reference[i+1]})
	}
	return pairs
}

// rewindTo has the answer go on after its first n tokens.
func (st *stream) rewindTo(n int) {
	st.Helper()
	st.pause()
	st.do(st.Rewind(st.Context(), st.generated()-n))
	st.resume()
}

// pause keeps the answer from growing; what it has so far is read.
func (st *stream) pause() {
	st.Helper()
	st.do(st.Pause(st.Context()))
	for e, more := st.TryNext(); more; e, more = st.TryNext() {
		st.take(e)
	}
}

func (st *stream) resume() {
	st.Helper()
	st.do(st.Resume(st.Context()))
}

// generated is how many tokens the answer has, those that were not read included.
func (st *stream) generated() int {
	st.Helper()
	_, answered, err := st.Conversation(st.Context())
	st.do(err)
	return len(answered.Tokens)
}

func (st *stream) do(err error) {
	st.Helper()
	if err != nil {
		st.Fatal(err)
	}
}

// preempted pauses an answer, so that another takes its slot and others its cells, and lets it go
// on.
func preempted(s *server) []pair {
	const paused = 0 // so short that it is not put into the archive
	st := s.ask(prompts()[paused], manner{held: true})
	st.read(20)
	st.pause()
	other := s.request(words(200, 50), manner{mute: true, short: true})
	other.Slot = &st.slot
	s.askAll(other)[0].whole()
	s.crowd(210)
	waits, before := s.waits(st)
	st.resume()
	got := st.whole()
	if _, after := s.waits(st); !waits || after-before < 20 {
		s.Errorf("preempted: %v; then %d tokens were computed again", waits, after-before)
	}
	return []pair{{got, s.reference[paused]}}
}

// crowd fills all cells with others' prompts.
func (s *server) crowd(seed int) {
	s.Helper()
	for i := range 2 * slots {
		s.ask(words(seed+i, 150), manner{mute: true, short: true}).whole()
	}
}

// waits reports whether an answer has no slot, and counts the tokens of prompts that were computed
// so far.
func (s *server) waits(st *stream) (waits bool, prefilled int) {
	s.Helper()
	snap, err := s.Scheduler.Inspect(s.Context(), 4096)
	if err != nil {
		s.Fatal(err)
	}
	for _, tick := range snap.Ticks {
		prefilled += tick.Prefill
	}
	return slices.ContainsFunc(snap.Queue, func(q scheduler.QueueInfo) bool { return q.Stream == st.ID() }), prefilled
}

// archived goes on with a conversation whose cells others have taken since.
func archived(s *server) []pair {
	const talk = 2
	conversation := slices.Concat(prompts()[talk], s.ask(prompts()[talk], manner{}).whole().tokens(), words(300, 5))
	s.crowd(400)
	st := s.ask(conversation, manner{})
	got := st.whole()
	if want := len(prompts()[talk]); st.cached < want && !s.lacks.Has(model.Saving) {
		s.Errorf("%d tokens of the conversation were found, want at least %d", st.cached, want)
	}
	return []pair{{got, s.alone(conversation)}}
}

// shared begins as an answer that is being computed.
func shared(s *server) []pair {
	prefix := words(500, 100)
	first, second := slices.Concat(prefix, words(501, 20)), slices.Concat(prefix, words(502, 30))
	a := s.ask(first, manner{held: true})
	a.read(10)
	b := s.ask(second, manner{})
	pairs := []pair{{a.whole(), nil}, {b.whole(), nil}}
	if b.cached < len(prefix) && s.Engine.Info().OwnCells() {
		s.Errorf("%d tokens of a prefix of %d were shared", b.cached, len(prefix))
	}
	pairs[0].want, pairs[1].want = s.alone(first), s.alone(second)
	return pairs
}
