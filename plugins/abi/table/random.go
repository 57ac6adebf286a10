// SPDX-License-Identifier: MIT

package table

import "fmt"

// Splitmix64 are the numbers of the generator that random numbers come from. A step adds
// Increment, then twice shifts and multiplies, then shifts once more.
type Splitmix64 struct {
	Increment   uint64
	Shifts      [3]int
	Multipliers [2]uint64
}

// Generator is the one of the import random.
var Generator = Splitmix64{0x9e3779b97f4a7c15, [3]int{30, 27, 31}, [2]uint64{0xbf58476d1ce4e5b9, 0x94d049bb133111eb}}

// WorkedDraw is the example of the reference: the first draws at position 12 with seed 7 in the
// first plugin of a chain.
var WorkedDraw = struct {
	Seed, Place, Position uint64
	Draws                 [2]uint64
}{7, 0, 12, [2]uint64{0x2f11555552b85a98, 0x22eb725279bc4bf7}}

func randomNumbers() string {
	g, w := Generator, WorkedDraw
	return fmt.Sprintf(`The result of `+"`random`"+` is a function of four numbers: the seed of the choice, the plugin's place
among the request's plugins (from 0), the position, which is the length of the history, and the
number of earlier draws at that position. x begins at 0. For each of the four numbers in this order,
x becomes a step of splitmix64 (Steele, Lea and Flood, 2014) of x XOR the number, in unsigned 64-bit
arithmetic that wraps: add %#x; XOR with itself shifted right by %d, times
%#x; XOR with itself shifted right by %d, times %#x; XOR with itself
shifted right by %d.

*Worked:* seed %d, place %d, position %d: the first draw is %#x, the second
%#x.`,
		g.Increment, g.Shifts[0], g.Multipliers[0], g.Shifts[1], g.Multipliers[1], g.Shifts[2],
		w.Seed, w.Place, w.Position, w.Draws[0], w.Draws[1])
}
