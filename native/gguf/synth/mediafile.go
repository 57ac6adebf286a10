// SPDX-License-Identifier: MIT

package synth

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"

	"github.com/penstock/penstock/native/gguf"
)

// mediaFile is a small model's or projector's file while it is put together: a header, and what
// fills each of its tensors. A tensor's numbers depend on the seed and on its name, so that files
// which share a tensor share its numbers.
type mediaFile struct {
	h     *gguf.Header
	fills []func(row uint64) float64 // deviation of a row's random numbers; nil: all are 1
	tower tower                      // of an encoder
}

func newMediaFile(architecture, name string) *mediaFile {
	f := &mediaFile{h: &gguf.Header{}, tower: smallTower}
	f.h.Set("general.architecture", gguf.NewString(architecture))
	f.h.Set("general.name", gguf.NewString("synthetic "+name))
	f.h.Set("general.file_type", gguf.NewUint32(0))
	return f
}

// numbers sets metadata of 32 bits, whose keys begin with a prefix.
func (f *mediaFile) numbers(prefix string, numbers []number) {
	for _, n := range numbers {
		f.h.Set(prefix+n.key, gguf.NewUint32(n.value))
	}
}

type number struct {
	key   string
	value uint32
}

// matrix adds random numbers with a deviation that keeps the size of what is multiplied with them,
// times factor. The last of dims counts the outputs.
func (f *mediaFile) matrix(name string, factor float64, dims ...uint64) {
	f.tensor(name, f.tower.weights, factor/math.Sqrt(float64(product(dims[:len(dims)-1]))), dims...)
}

// convolution is a matrix in half precision, as libmtmd wants the first layer.
func (f *mediaFile) convolution(name string, factor float64, dims ...uint64) {
	f.tensor(name, gguf.F16, factor/math.Sqrt(float64(product(dims[:len(dims)-1]))), dims...)
}

func (f *mediaFile) tensor(name string, kind gguf.TensorType, deviation float64, dims ...uint64) {
	f.add(name, kind, func(uint64) float64 { return deviation }, dims...)
}

func (f *mediaFile) add(name string, kind gguf.TensorType, deviation func(row uint64) float64, dims ...uint64) {
	f.h.Append(name, kind, dims...)
	f.fills = append(f.fills, deviation)
}

// norm adds weights that change nothing, and a random bias where there is one.
func (f *mediaFile) norm(name string, n uint64, biased bool) {
	f.add(name+".weight", gguf.F32, nil, n)
	if biased {
		f.bias(name, n)
	}
}

func (f *mediaFile) bias(name string, n uint64) { f.tensor(name+".bias", gguf.F32, 0.1, n) }

// linear is a matrix of weights from so many numbers to others, with a bias.
func (f *mediaFile) linear(name string, from, to uint64) {
	f.matrix(name+".weight", 1, from, to)
	f.bias(name, to)
}

func (f *mediaFile) write(w io.Writer, seed uint64) error {
	if err := f.h.Write(w); err != nil {
		return err
	}
	for i, t := range f.h.Tensors {
		if _, err := w.Write(numbersOf(t, f.fills[i], seed, f.h.Alignment)); err != nil {
			return err
		}
	}
	return nil
}

func numbersOf(t gguf.Tensor, deviation func(row uint64) float64, seed, align uint64) []byte {
	name := fnv.New64a()
	_, _ = name.Write([]byte(t.Name))
	random := rand.New(rand.NewPCG(seed, name.Sum64()))
	out := make([]byte, 0, t.Size()+align)
	for i := range t.Elements() {
		x := float32(1)
		if deviation != nil {
			x = float32(random.NormFloat64() * deviation(i/t.Dims[0]))
		}
		if t.Type == gguf.F16 {
			out = binary.LittleEndian.AppendUint16(out, half(x))
		} else {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
	}
	return append(out, make([]byte, -uint64(len(out))&(align-1))...)
}

func product(of []uint64) uint64 {
	n := uint64(1)
	for _, x := range of {
		n *= x
	}
	return n
}
