// SPDX-License-Identifier: MIT

// Package spelling finds what a misspelt name was meant to be.
package spelling

// Distance is the Levenshtein distance of two names: how many bytes to insert, remove or replace
// to get from a to b.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
