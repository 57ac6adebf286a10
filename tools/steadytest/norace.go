// SPDX-License-Identifier: MIT

//go:build !race

package steadytest

const raced = false
