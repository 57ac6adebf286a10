// SPDX-License-Identifier: MIT

// Package fit chooses with how large a context and how many slots a model is served, so that it
// fits into memory. What that takes is not estimated: llama.cpp tells it (model.DryRun).
//
// # How is it known what memory a model takes?
//
// llama.cpp's dry run says it: with no_alloc a model is read without its weights, and a context
// on it is planned without being allocated. Adding it up from the header was wrong wherever an
// architecture has something of its own: of Gemma 3 12B with 131,072 cells it made 48 GB of
// cache, where windows in five of six layers leave 11. What the dry run says is what a loaded
// model has taken, to the byte (TestDryRun_Need_IsWhatIsTaken); the rows of output are added,
// which it leaves out. It runs in a child process, as the trial of a model does, because a
// damaged file may end it. Its vocabulary is left out, since reading one takes most of the time:
// with it, a file with 262,144 tokens took three times as long. The answers are kept beside the
// notes of trials, so the next start reads a small file.
//
// # Why is a model's memory not measured once it is loaded?
//
// Weights are pages of a file. The kernel counts them as available even while they are used, so the
// memory that it reports as available hardly changes when a model is loaded. host/residency adds up
// what models take and compares the sum with a budget. What the system says counts, too: it knows
// of other programs.
//
// # Why does the context shrink before the slots do, and why is no configured value changed?
//
// A smaller context refuses long conversations, fewer slots have everybody wait. With 4096 tokens
// most conversations go on. A configured value is never overridden: a server with another value
// would fail later and elsewhere. So one that does not fit is refused at once, with the value
// that would.
package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native"
)

// Model tells what contexts of a model take: a model.DryRun.
type Model interface {
	Info() native.ModelInfo
	Need(ctx context.Context, o native.ContextOptions) (model.Need, error)
}

// Wish is how a model is to be served, and what of that may be chosen anew.
type Wish struct {
	engine.Options
	AnyContext, AnySlots bool
	LeastContext         int // tokens that a conversation is to have at least; 0: 4096
}

// Room is the memory that a model may take.
type Room struct {
	Main   uint64 // available bytes of main memory; 0: unknown, so that any model fits
	AnyGPU bool   // GPUs have room for any model
	Margin uint64 // bytes to leave free on each device; 0: a gibibyte on a GPU, a tenth of what is available in main memory
}

// Plan is how a model is served.
type Plan struct {
	engine.Options // with the slots, and with the context where it is not what is usual for them
	Need           model.Need
	Text           string // a line for people
	Tight          bool   // it leaves less free than the room's margin
}

const (
	gpuMargin    = 1 << 30
	leastContext = 4096
	// cellUnit is what the cells of a sequence are a multiple of in llama.cpp.
	cellUnit = 256
)

// Choose finds out whether a model fits as it is wished. If it does not, what may be chosen
// becomes less: first the earlier states of a recurrent model, without which no tokens are
// guessed, then the context, down to the least for each conversation, then the slots, by halves.
// What does not fit at all is a model.ErrTooLarge, beside the plan as it is wished.
func Choose(ctx context.Context, m Model, w Wish, r Room) (Plan, error) {
	s := newSearch(ctx, m, w, r)
	wished, err := s.planFor(w.Options)
	if err != nil {
		return Plan{}, err
	}
	if r.fits(wished.Need) {
		wished.Text = fmt.Sprintf("%s for %d slots take %s", s.cells(wished), wished.Slots, wished.accountFor(r))
		return wished, nil
	}
	if wished.ContextOptions(m.Info()).Snapshots > 0 {
		s.wish.Snapshots = 0
		if wished, err = s.planFor(s.wish.Options); err != nil || r.fits(wished.Need) {
			wished.Text = fmt.Sprintf("%s for %d slots do not fit with the earlier states that drafts need; without drafts they take %s",
				s.cells(wished), wished.Slots, wished.accountFor(r))
			return wished, err
		}
	}
	if found, ok, err := s.planSmaller(); ok || err != nil {
		found.Text = fmt.Sprintf("%s for %d slots do not fit beside %s of weights in %s; %s, %d slots: %s%s", s.cells(wished), wished.Slots,
			Size(weights(wished.Need)), r.text(wished.Need), s.cells(found), found.Slots, found.accountFor(r), s.eightBits("; all would fit with "))
		return found, err
	}
	if r.holds(wished.Need) { // what was asked for leaves little free, but it was asked for
		wished.Text = fmt.Sprintf("%s for %d slots take %s, which leaves less free than model.fit_target", s.cells(wished), wished.Slots, wished.accountFor(r))
		wished.Tight = true
		return wished, nil
	}
	return wished, s.refuse(wished)
}

// search looks for a plan that fits.
type search struct {
	ctx   context.Context
	model Model
	wish  Wish
	room  Room
}

func newSearch(ctx context.Context, m Model, w Wish, r Room) *search {
	w.LeastContext = cmp.Or(w.LeastContext, leastContext)
	return &search{ctx, m, w, r}
}

// planFor asks what given options need, whether it fits or not.
func (s *search) planFor(o engine.Options) (Plan, error) {
	need, err := s.model.Need(s.ctx, o.ContextOptions(s.model.Info()))
	return Plan{Options: o, Need: need}, err
}

// planSmaller finds the largest plan that fits, with fewer cells, and if that is not enough fewer
// slots.
func (s *search) planSmaller() (p Plan, ok bool, err error) {
	for o := s.wish.Options; o.Slots > 0; o.Slots /= 2 {
		o.CacheSequences = min(o.CacheSequences, o.Slots)
		if p, ok, err = s.mostCells(o); ok || err != nil || !s.wish.AnySlots {
			return p, ok, err
		}
	}
	return p, false, nil
}

// mostCells finds the plan with the most cells that fits, of those for some slots.
func (s *search) mostCells(o engine.Options) (best Plan, ok bool, err error) {
	wished, err := s.planFor(o)
	if err != nil || s.room.fits(wished.Need) {
		return wished, err == nil, err
	}
	if !s.wish.AnyContext {
		return wished, false, nil
	}
	info := s.model.Info()
	unit := cellUnit
	least := s.wish.LeastContext
	if info.ContextTrain > 0 {
		least = min(least, info.ContextTrain)
	}
	few := o // with few cells, slots may share what they had of their own
	if few.ContextSize = 1; !few.Shared(info) {
		unit *= o.Slots
		least *= o.Slots
	}
	// In units: the least are tried first, then the middle of what fits and what does not.
	fitting, over := 0, (o.ContextOptions(info).Cells+unit-1)/unit
	for units := (least + unit - 1) / unit; fitting < units && units < over; units = (fitting + over) / 2 {
		o.ContextSize = units * unit
		p, err := s.planFor(o)
		switch {
		case err != nil:
			return p, false, err
		case s.room.fits(p.Need):
			best, fitting = p, units
		case fitting == 0:
			return best, false, nil
		default:
			over = units
		}
	}
	return best, fitting > 0, nil
}

// eightBits is a hint to keys and values of eight bits, where all that is wished fits with them.
// They are not chosen by themselves, since they change answers.
func (s *search) eightBits(words string) string {
	o := s.wish.Options
	if c := &o.Context; cmp.Or(c.TypeK, "f16") == "f16" && cmp.Or(c.TypeV, "f16") == "f16" {
		c.TypeK, c.TypeV = "q8_0", "q8_0"
		if p, err := s.planFor(o); err == nil && s.room.fits(p.Need) { // not every model can have them
			return words + "--cache-type-k q8_0 --cache-type-v q8_0"
		}
	}
	return ""
}

// cells tells how many KV cells a plan has.
func (s *search) cells(p Plan) string {
	return fmt.Sprintf("%d cells", p.ContextOptions(s.model.Info()).Cells)
}

// refuse says what the wished plan lacks, and what can be done.
func (s *search) refuse(wished Plan) error {
	remedy := "use a smaller or more strongly quantised model"
	eightBits := s.eightBits(", or ")
	if !s.wish.AnyContext || !s.wish.AnySlots {
		s.wish.AnyContext, s.wish.AnySlots, s.room.Margin = true, true, 1 // as much as there is
		if p, ok, err := s.planSmaller(); err != nil {
			return err
		} else if ok {
			remedy = fmt.Sprintf("use --ctx-size %d or less", p.ContextSize)
			if p.Slots < wished.Slots {
				remedy += fmt.Sprintf(" with --parallel %d or less", p.Slots)
			}
		}
	}
	return fmt.Errorf("%w: %s for %d slots take %s; %s%s, or have it tried all the same with --fit off", model.ErrTooLarge, s.cells(wished),
		wished.Slots, wished.accountFor(s.room), remedy, eightBits)
}

// Check tells whether a model as it is can be held by the memory there is; if it cannot, the error
// is a model.ErrTooLarge.
func Check(need model.Need, r Room) error {
	if r.holds(need) {
		return nil
	}
	return fmt.Errorf("%w: it takes %s", model.ErrTooLarge, Plan{Need: need}.accountFor(r))
}

// fits reports whether a need leaves the margins free.
func (r Room) fits(need model.Need) bool {
	return r.leavesFree(need, cmp.Or(r.Margin, r.Main/10), cmp.Or(r.Margin, gpuMargin))
}

// holds reports whether there is so much memory at all.
func (r Room) holds(need model.Need) bool { return r.leavesFree(need, 0, 0) }

// leavesFree reports whether a need leaves free that many bytes of main memory and of each GPU. A
// GPU that does not say what it has free is not looked at.
func (r Room) leavesFree(need model.Need, main, gpu uint64) bool {
	if r.Main > 0 && need.Main().Used()+main > r.Main {
		return false
	}
	for _, d := range need.GPUs() {
		if !r.AnyGPU && d.Total > 0 && d.Used() > 0 && d.Used()+gpu > d.Free {
			return false
		}
	}
	return true
}

// text names what is available.
func (r Room) text(need model.Need) string {
	var list []string
	for _, d := range need.GPUs() {
		list = append(list, fmt.Sprintf("%s on %s", Size(d.Free), d.Name))
	}
	if r.Main > 0 {
		list = append(list, Size(r.Main))
	}
	return strings.Join(list, " and ")
}

// accountFor says what a plan takes and what of, in one phrase.
func (p Plan) accountFor(r Room) string {
	main := p.Need.Main()
	parts := []string{namedSize("weights", main.Plain+main.Weights), namedSize("KV cache", main.Cells), namedSize("computing", main.Compute)}
	text := fmt.Sprintf("%s (%s)", Size(main.Used()), strings.Join(parts, ", "))
	for _, d := range p.Need.GPUs() {
		parts := []string{namedSize("weights", d.Plain+d.Weights), namedSize("KV cache", d.Cells), namedSize("computing", d.Compute)}
		text += fmt.Sprintf(" and %s on %s (%s)", Size(d.Used()), d.Name, strings.Join(parts, ", "))
	}
	if available := r.text(p.Need); available != "" {
		text += " of " + available
	}
	return text
}

func namedSize(name string, bytes uint64) string { return name + " " + Size(bytes) }

// weights are those on all devices.
func weights(need model.Need) (bytes uint64) {
	for _, d := range need {
		bytes += d.Plain + d.Weights
	}
	return bytes
}

// Size writes bytes for people.
func Size(bytes uint64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}

// Layered opens a model with that many layers on GPUs, to ask what its contexts take; negative:
// all.
type Layered func(ctx context.Context, gpuLayers int) (Model, error)

// Layers finds out how many layers of a model can be on the GPUs, and says it in a line where they
// are not all (-1). A smaller context, fewer slots and no drafts come before fewer layers, which
// cost most of the speed. Where layers stay with the CPU, the slots are those wished.
func Layers(ctx context.Context, of Layered, w Wish, r Room) (layers int, text string, err error) {
	all, err := of(ctx, -1)
	if err != nil {
		return -1, "", err
	}
	whole, err := Choose(ctx, all, w, r)
	if !errors.Is(err, model.ErrTooLarge) {
		return -1, "", err
	}
	if len(whole.Need.GPUs()) == 0 {
		return -1, "", nil // what loads it says that it does not fit
	}
	w.AnySlots, w.Snapshots = false, 0
	fits := func(n int, r Room) (bool, error) {
		m, err := of(ctx, n)
		if err != nil {
			return false, err
		}
		w.GPULayers = n
		_, ok, err := newSearch(ctx, m, w, r).planSmaller()
		return ok, err
	}
	// Main memory has to do with what is left, so it is looked at where the GPUs have as much as
	// they can. Without layers they have nothing.
	fitting, over := 0, all.Info().Layers+1 // the output layer is one, too
	for fitting+1 < over {
		n := (fitting + over) / 2
		ok, err := fits(n, Room{Margin: r.Margin})
		switch {
		case err != nil:
			return -1, "", err
		case ok:
			fitting = n
		default:
			over = n
		}
	}
	if ok, err := fits(fitting, r); !ok {
		return -1, "", err // likewise
	}
	return fitting, fmt.Sprintf("all layers do not fit on the GPU, where they would take %s; %d of %d layers are there", whole.accountFor(r), fitting,
		all.Info().Layers+1), nil
}
