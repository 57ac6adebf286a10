// SPDX-License-Identifier: MIT

package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"unsafe"

	"github.com/penstock/penstock/tools/must"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// growable is a module with a memory of 1 to 256 pages, exported, and one
// byte of data, 7, at address 0.
var growable = []byte("\x00asm\x01\x00\x00\x00" +
	"\x05\x05\x01\x01\x01\x80\x02" +
	"\x07\x0a\x01\x06memory\x02\x00" +
	"\x0b\x07\x01\x00\x41\x00\x0b\x01\x07")

const limit = 256 * pageSize

func instance(t testing.TB, r wazero.Runtime) (api.Module, *Region) {
	t.Helper()
	region := must.Get(New(limit, nil))(t)
	ctx := experimental.WithMemoryAllocator(context.Background(), region)
	mod := must.Get(r.InstantiateWithConfig(ctx, growable, wazero.NewModuleConfig().WithName("")))(t)
	return mod, region
}

func runtime(t testing.TB) wazero.Runtime {
	r := wazero.NewRuntime(context.Background())
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

func TestRegion_Grow_KeepsAddressAndContent(t *testing.T) {
	mod, region := instance(t, runtime(t))
	base := unsafe.SliceData(region.Bytes())
	mod.Memory().WriteUint32Le(100, 0xabcd)
	for range 255 {
		if _, ok := mod.Memory().Grow(1); !ok {
			t.Fatal("growing failed below the maximum")
		}
	}
	if unsafe.SliceData(region.Bytes()) != base {
		t.Error("memory moved")
	}
	if x, _ := mod.Memory().ReadUint32Le(100); x != 0xabcd {
		t.Errorf("read %#x after growing", x)
	}
	if last, ok := mod.Memory().ReadByte(limit - 1); !ok || last != 0 {
		t.Errorf("last byte %d, %v; want 0", last, ok)
	}
	if _, ok := mod.Memory().Grow(1); ok {
		t.Error("grew beyond the maximum")
	}
	if asked, _ := region.Exceeded(); asked != 0 {
		t.Errorf("%d bytes asked for; the module's own maximum was in the way", asked)
	}
	if region.Reallocate(limit+1) != nil {
		t.Error("reallocated beyond the limit")
	}
	if asked, most := region.Exceeded(); asked != limit+1 || most != limit {
		t.Errorf("%d bytes of %d asked for", asked, most)
	}
	region.Forget()
	if asked, _ := region.Exceeded(); asked != 0 {
		t.Errorf("%d bytes are not forgotten", asked)
	}
}

func TestRegion_Restore_CopiesOnWrite(t *testing.T) {
	r := runtime(t)
	warm, region := instance(t, r)
	warm.Memory().Grow(9)
	warm.Memory().WriteByte(0, 42) // where the data segment wrote 7
	warm.Memory().WriteUint32Le(5*pageSize, 0x12345678)
	image := must.Get(region.Snapshot())(t)
	defer image.Close()
	must.Do(t, warm.Close(context.Background()))
	want := make([]byte, 10*pageSize)
	want[0] = 42
	copy(want[5*pageSize:], "\x78\x56\x34\x12")
	for range 3 {
		mod, copied := instance(t, r)
		must.Do(t, copied.Restore(mod.Memory(), image))
		got, _ := mod.Memory().Read(0, mod.Memory().Size())
		if !bytes.Equal(got, want) {
			t.Fatal("the copy differs from the image")
		}
		for i := range got { // must not reach the image, nor the next instance
			got[i] = 0xff
		}
		if _, ok := mod.Memory().Grow(1); !ok {
			t.Error("a restored memory cannot grow")
		}
		if x, _ := mod.Memory().ReadByte(10 * pageSize); x != 0 {
			t.Errorf("new page begins with %d", x)
		}
	}
}

func TestRegion_Restore_Refused(t *testing.T) {
	r := runtime(t)
	mod, region := instance(t, r)
	small := must.Get(region.Snapshot())(t)
	mod.Memory().Grow(1)
	if err := region.Restore(mod.Memory(), small); !errors.Is(err, ErrSize) {
		t.Errorf("restoring a smaller image: %v, want ErrSize", err)
	}
	if err := errors.Join(small.Close(), small.Close()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	other, fresh := instance(t, r)
	if err := fresh.Restore(other.Memory(), small); !errors.Is(err, ErrFreed) {
		t.Errorf("restoring a closed image: %v, want ErrFreed", err)
	}
	fresh.Free()
	fresh.Free()
	if _, err := fresh.Snapshot(); !errors.Is(err, ErrFreed) || fresh.Bytes() != nil {
		t.Errorf("snapshot of a freed region: %v, want ErrFreed", err)
	}
}

func TestNew_TooLarge_IsAnError(t *testing.T) {
	if _, err := New(1<<32+1, nil); !errors.Is(err, ErrSize) {
		t.Errorf("error %v, want ErrSize", err)
	}
}

// Many goroutines restore from one image, write to their copies and close.
func TestImage_Restore_Concurrently(t *testing.T) {
	r := runtime(t)
	warm, region := instance(t, r)
	warm.Memory().WriteByte(9, 9)
	image := must.Get(region.Snapshot())(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			t.Run(fmt.Sprint(g), func(t *testing.T) {
				for range 25 {
					mod, copied := instance(t, r)
					must.Do(t, copied.Restore(mod.Memory(), image))
					if x, _ := mod.Memory().ReadByte(9); x != 9 {
						t.Errorf("byte 9 is %d", x)
					}
					mod.Memory().WriteByte(9, byte(g))
					must.Do(t, mod.Close(context.Background()))
				}
			})
		})
	}
	wg.Wait()
	if err := image.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkInstance is the price of an instance's memory: reserve, commit,
// and free, without and with an image.
func BenchmarkInstance(b *testing.B) {
	r := runtime(b)
	warm, region := instance(b, r)
	warm.Memory().Grow(63) // 4 MiB
	content, _ := warm.Memory().Read(0, warm.Memory().Size())
	for i := range content {
		content[i] = byte(i)
	}
	image := must.Get(region.Snapshot())(b)
	defer image.Close()
	for name, with := range map[string]*Image{"empty": nil, "4MiB-image": image} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				mod, copied := instance(b, r)
				if with != nil {
					if err := copied.Restore(mod.Memory(), with); err != nil {
						b.Fatal(err)
					}
				}
				mod.Close(context.Background())
			}
		})
	}
}

// A difference restores what was there, with only the changed pages of its own.
func TestRegion_Difference_SharesWhatIsTheSame(t *testing.T) {
	r := runtime(t)
	page := os.Getpagesize()
	warm, region := instance(t, r)
	warm.Memory().Grow(9)
	warm.Memory().WriteByte(0, 42)
	warm.Memory().WriteUint32Le(5*pageSize, 5)
	base := must.Get(region.Snapshot())(t)
	defer base.Close()
	planned, copied := instance(t, r)
	must.Do(t, copied.Restore(planned.Memory(), base))
	planned.Memory().Grow(2)
	planned.Memory().WriteByte(0, 43)
	planned.Memory().WriteUint32Le(5*pageSize, 0) // zero where the base is not
	planned.Memory().WriteUint32Le(11*pageSize, 7)
	want := bytes.Clone(copied.Bytes())
	image := must.Get(copied.Difference(base, uint64(3*page)))(t)
	if image.Own() != uint64(3*page) || image.Size() != 12*pageSize || base.Own() != base.Size() {
		t.Errorf("%d bytes of its own, %d in all; of the base %d", image.Own(), image.Size(), base.Own())
	}
	before := mapped.Load()
	for _, others := range []int64{before, before, mostMapped} { // where those have all mappings, it copies
		mapped.Store(others)
		mod, other := instance(t, r)
		must.Do(t, other.Restore(mod.Memory(), image))
		if has := mapped.Load() - others; (has == 0) != (others == mostMapped) {
			t.Errorf("beside %d stretches it maps %d", others, has)
		}
		if !bytes.Equal(other.Bytes(), want) {
			t.Fatal("the copy differs")
		}
		for i := range other.Bytes() { // must reach neither image nor base
			other.Bytes()[i] = 0xff
		}
		if other.Free(); mapped.Load() != others {
			t.Errorf("%d stretches are mapped, %d were", mapped.Load(), others)
		}
	}
	mapped.Store(before)
	if _, err := copied.Difference(base, uint64(2*page)); !errors.Is(err, ErrChanged) {
		t.Errorf("more than may differ: %v", err)
	}
	if err := image.Close(); err != nil {
		t.Error(err)
	}
	mod, late := instance(t, r)
	if err := late.Restore(mod.Memory(), image); !errors.Is(err, ErrFreed) {
		t.Errorf("restoring a closed difference: %v", err)
	}
	mod, late = instance(t, r)
	if err := late.Restore(mod.Memory(), base); err != nil {
		t.Errorf("the base is closed with it: %v", err)
	}
}

func TestFindChanges_Scattered_AreFew(t *testing.T) {
	page := os.Getpagesize()
	base, content := make([]byte, 200*page), make([]byte, 202*page)
	var changed []int
	for n := 0; n < 50; n++ {
		changed = append(changed, n*2+n/5*5) // pairs of neighbours, with larger gaps after each fifth
	}
	changed = append(changed, 201)
	for _, n := range changed {
		content[n*page+17] = 1
	}
	spans := findChanges(content, base)
	if len(spans) > mostSpans || len(spans) < 10 {
		t.Errorf("%d stretches", len(spans))
	}
	restored := make([]byte, len(content))
	for _, s := range spans {
		copy(restored[s.at:s.at+s.size], content[s.at:])
	}
	if !bytes.Equal(restored, content) {
		t.Error("a page is missing")
	}
}

// A change of any byte of a page is one, the last too, and within the base as beyond it.
func TestFindChanges_AnyByte(t *testing.T) {
	page := os.Getpagesize()
	base := bytes.Repeat([]byte{7}, 2*page)
	for _, at := range []int{0, page - 1, page, 2*page - 1, 2 * page, 3*page - 1} {
		content := append(bytes.Clone(base), make([]byte, page)...)
		content[at]++
		if spans := findChanges(content, base); len(spans) != 1 || spans[0] != (span{at / page * page, page}) {
			t.Errorf("byte %d: %v", at, spans)
		}
	}
}
