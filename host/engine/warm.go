// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"

	"github.com/penstock/penstock/native"
)

// warm computes one token and removes it again. So the weights are in memory before the first
// request, and it is known whose kernels compute. It returns the kernels of the weights.
func warm(m *native.Model, c *native.Context) ([]native.Weights, error) {
	var b native.Batch
	b.Add(0, 0, 0, true)
	if err := c.Decode(&b); err != nil {
		return nil, fmt.Errorf("the first pass: %w", err)
	}
	if err := c.Remove(0, -1, -1); err != nil {
		return nil, fmt.Errorf("taking back the first pass: %w", err)
	}
	return m.Weights()
}
