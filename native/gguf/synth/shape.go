// SPDX-License-Identifier: MIT

package synth

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrShape means that the shape cannot be one of a Llama model, or that its name is unknown.
var ErrShape = errors.New("bad model shape")

// Shape is the size of a Llama model. Unless it has a Loop, the embedding is also the output layer.
type Shape struct {
	Name                             string
	Dim, Layers, Heads, KVHeads, FFN uint32 // widths in numbers a token
	Context                          uint32 // tokens
	Experts, Active                  uint32 // in each layer, and for each token; 0: dense
	Loop                             uint32 // tokens after which greedy text begins again; 0: the text is random
	Head                             bool   // its file has a head that guesses the token after the next
	Right                            uint32 // of a hundred tokens of a loop, how many the head guesses rightly
}

// Shapes are those of well-known models of that many parameters: SmolLM 135M, Qwen 2.5 0.5B, Llama
// 3.2 1B. A larger vocabulary than theirs adds to the count. The mixture of experts is no
// well-known one: it is small enough to measure. The loop computes what 135m computes, and its
// greedy text can be guessed; loop1b is one that computes what 1b computes, and has a head that is
// always right. The shallow one has a third of 135m's layers: a long prompt takes a
// third of the time.
var Shapes = []Shape{
	{Name: "135m", Dim: 576, Layers: 30, Heads: 9, KVHeads: 3, FFN: 1536, Context: 8192},
	{Name: "0.5b", Dim: 896, Layers: 24, Heads: 14, KVHeads: 2, FFN: 4864, Context: 32768},
	{Name: "1b", Dim: 2048, Layers: 16, Heads: 32, KVHeads: 8, FFN: 8192, Context: 131072},
	{Name: "moe", Dim: 768, Layers: 12, Heads: 12, KVHeads: 4, FFN: 512, Context: 8192, Experts: 32, Active: 4},
	{Name: "loop", Dim: 576, Layers: 30, Heads: 9, KVHeads: 3, FFN: 1536, Context: 8192, Loop: 32},
	{Name: "loop1b", Dim: 2048, Layers: 16, Heads: 32, KVHeads: 8, FFN: 8192, Context: 131072, Loop: 32, Head: true, Right: 100},
	{Name: "shallow", Dim: 576, Layers: 10, Heads: 9, KVHeads: 3, FFN: 1536, Context: 32768},
}

// ShapeNamed finds one of Shapes.
func ShapeNamed(name string) (Shape, error) {
	i := slices.IndexFunc(Shapes, func(s Shape) bool { return strings.EqualFold(s.Name, name) })
	if i < 0 {
		var names []string
		for _, s := range Shapes {
			names = append(names, s.Name)
		}
		return Shape{}, fmt.Errorf("%w: no shape is named %q, there are %s", ErrShape, name, strings.Join(names, ", "))
	}
	return Shapes[i], nil
}

// headDim is the width of one attention head.
func (s Shape) headDim() uint32 { return s.Dim / s.Heads }

func (s Shape) validate() error {
	for name, n := range map[string]uint32{"dim": s.Dim, "layers": s.Layers, "heads": s.Heads, "kv heads": s.KVHeads,
		"ffn": s.FFN, "context": s.Context} {
		if n == 0 {
			return fmt.Errorf("%w: %s is 0", ErrShape, name)
		}
	}
	if s.Dim%blockLen != 0 || s.FFN%blockLen != 0 {
		return fmt.Errorf("%w: dim %d and ffn %d must be multiples of %d", ErrShape, s.Dim, s.FFN, blockLen)
	}
	if (s.Experts == 0) != (s.Active == 0) || s.Active > s.Experts {
		return fmt.Errorf("%w: %d of %d experts are active", ErrShape, s.Active, s.Experts)
	}
	if s.Loop > 0 && s.Experts > 0 {
		return fmt.Errorf("%w: a loop of %d tokens with %d experts; only dense models can have a loop", ErrShape, s.Loop, s.Experts)
	}
	if s.Right > 100 || s.Right > 0 && (!s.Head || s.Loop == 0) || s.Head && s.Experts > 0 {
		return fmt.Errorf("%w: a head (%v) that is right for %d of 100 tokens of a loop of %d with %d experts; heads of loops are, without experts",
			ErrShape, s.Head, s.Right, s.Loop, s.Experts)
	}
	if s.Dim%s.Heads != 0 || s.headDim()%2 != 0 || s.Heads%s.KVHeads != 0 {
		return fmt.Errorf("%w: %d heads (%d for keys) do not divide a width of %d evenly", ErrShape, s.Heads, s.KVHeads, s.Dim)
	}
	return nil
}
