// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"strconv"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/math32"
)

// layer is one of a network: outputs are bias + weights × inputs.
type layer struct {
	weights [][]float32 // by output
	bias    []float32
}

// readLayers reads a network and checks that its layers fit each other and a hidden state of so
// many numbers; 0: it is not known.
func readLayers(list json.Value, width int) ([]layer, error) {
	layers := make([]layer, list.Len())
	for i := range layers {
		rows, bias := list.At(i).Get("weights"), list.At(i).Get("bias")
		at := "config.layers[" + strconv.Itoa(i) + "]"
		if rows.Len() != bias.Len() {
			return nil, errors.New(at + ".bias has " + strconv.Itoa(bias.Len()) + " numbers, and weights has " + strconv.Itoa(rows.Len()) + " rows; give one for each")
		}
		layers[i].bias = numbers(bias)
		for r := range rows.Len() {
			row := numbers(rows.At(r))
			if width > 0 && len(row) != width {
				return nil, errors.New(at + ".weights[" + strconv.Itoa(r) + "] has " + strconv.Itoa(len(row)) + " numbers, and its input " + strconv.Itoa(width) +
					"; train the probe on this model")
			}
			width = len(row)
			layers[i].weights = append(layers[i].weights, row)
		}
		width = rows.Len()
	}
	if width != 1 {
		return nil, errors.New("config.layers ends with " + strconv.Itoa(width) + " outputs; the last layer has one")
	}
	return layers, nil
}

func numbers(list json.Value) []float32 {
	all := make([]float32, list.Len())
	for i := range all {
		all[i] = float32(list.At(i).Float())
	}
	return all
}

// probability is what the network makes of a state. It is not ok where the state has another width
// than the network's input.
func probability(layers []layer, x []float32) (p float32, ok bool) {
	for i, l := range layers {
		out := make([]float32, len(l.bias))
		for r, row := range l.weights {
			if len(row) != len(x) {
				return 0, false
			}
			sum := float64(l.bias[r])
			for k, w := range row {
				sum += float64(float64(w) * float64(x[k]))
			}
			if out[r] = float32(sum); i < len(layers)-1 {
				out[r] = max(0, out[r])
			}
		}
		x = out
	}
	return 1 / (1 + math32.Exp(-x[0])), true
}
