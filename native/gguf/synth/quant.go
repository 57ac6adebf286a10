// SPDX-License-Identifier: MIT

package synth

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/penstock/penstock/native/gguf"
)

// Quant is how the weights are stored.
type Quant int

// Q40 stores 4.5 bits a weight, Q80 8.5. With Q40 the embedding, which is also the output layer,
// is Q8_0: llama-quantize keeps that tensor at higher precision as well (Q6_K, 6.6 bits).
const (
	Q40 Quant = iota
	Q80
)

// QuantNamed finds a Quant by llama.cpp's name for it.
func QuantNamed(name string) (Quant, error) {
	switch strings.ToUpper(name) {
	case "Q4_0":
		return Q40, nil
	case "Q8_0":
		return Q80, nil
	default:
		return 0, fmt.Errorf("%w: no quantisation is named %q, there are Q4_0 and Q8_0", ErrShape, name)
	}
}

// layerType is the tensor type of the layers' matrices, fileType the value of general.file_type.
func (q Quant) layerType() gguf.TensorType {
	if q == Q40 {
		return gguf.Q4_0
	}
	return gguf.Q8_0
}

func (q Quant) fileType() uint32 {
	if q == Q40 {
		return 2
	}
	return 7
}

// blockLen is the numbers in a block of either format, which share one scale.
const blockLen = 32

// encode appends weights, a multiple of blockLen, in the given type.
func encode(dst []byte, kind gguf.TensorType, weights []float32) []byte {
	for len(weights) > 0 {
		switch kind {
		case gguf.Q4_0:
			dst = encodeQ40(dst, weights[:blockLen])
		case gguf.F32:
			for _, x := range weights[:blockLen] {
				dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
			}
		default:
			dst = encodeQ80(dst, weights[:blockLen])
		}
		weights = weights[blockLen:]
	}
	return dst
}

// encodeQ80: a half-precision scale, then 32 signed bytes.
func encodeQ80(dst []byte, w []float32) []byte {
	var peak float32
	for _, x := range w {
		peak = max(peak, x, -x)
	}
	scale := peak / 127
	dst = binary.LittleEndian.AppendUint16(dst, half(scale))
	for _, x := range w {
		dst = append(dst, byte(int8(math.Round(float64(ratio(x, scale))))))
	}
	return dst
}

// encodeQ40: a half-precision scale, then 32 numbers from 0 to 15 that stand for -8 to 7. The
// number of largest magnitude becomes -8, so the scale's sign is the opposite of its own. A byte
// holds number i and number i+16.
func encodeQ40(dst []byte, w []float32) []byte {
	var peak float32
	for _, x := range w {
		if max(x, -x) > max(peak, -peak) {
			peak = x
		}
	}
	scale := peak / -8
	dst = binary.LittleEndian.AppendUint16(dst, half(scale))
	for i := range blockLen / 2 {
		low, high := nibble(ratio(w[i], scale)), nibble(ratio(w[i+blockLen/2], scale))
		dst = append(dst, low|high<<4)
	}
	return dst
}

func nibble(x float32) byte { return byte(min(15, int(x+8.5))) }

func ratio(x, scale float32) float32 {
	if scale == 0 {
		return 0
	}
	return x / scale
}

// half is the nearest half-precision number to f, ties to even. f is finite and below 65504.
func half(f float32) uint16 {
	bits := math.Float32bits(f)
	sign, abs := uint16(bits>>16)&0x8000, bits&0x7fffffff
	if abs < 0x38800000 { // below the smallest normal half, 2^-14: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(abs))*(1<<24)))
	}
	abs += 0xfff + abs>>13&1 // round the 13 bits that go, then move the exponent's bias from 127 to 15
	return sign | uint16(abs>>13-(127-15)<<10)
}

// Halves gives numbers of F32, as they lie in a file, half precision.
func Halves(numbers []byte) []byte {
	halves := make([]byte, 0, len(numbers)/2)
	for at := 0; at+4 <= len(numbers); at += 4 {
		halves = binary.LittleEndian.AppendUint16(halves, half(math.Float32frombits(binary.LittleEndian.Uint32(numbers[at:]))))
	}
	return halves
}
