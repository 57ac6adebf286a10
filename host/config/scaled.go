// SPDX-License-Identifier: MIT

package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseScaled reads FILE:SCALE, as a list of adapters or control vectors has it.
func ParseScaled(text string) (file string, scale float32, err error) {
	at := strings.LastIndexByte(text, ':')
	if at < 1 {
		return "", 0, fmt.Errorf("%q is not FILE:SCALE", text)
	}
	f, err := strconv.ParseFloat(text[at+1:], 32)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return "", 0, fmt.Errorf("%q is not FILE:SCALE with a number as the scale", text)
	}
	return text[:at], float32(f), nil
}

func areScaled(v any) bool {
	for _, s := range v.([]string) {
		if _, _, err := ParseScaled(s); err != nil {
			return false
		}
	}
	return true
}

// ParseLayers reads FIRST,LAST; both are 0 for an empty text.
func ParseLayers(text string) (first, last int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	a, b, _ := strings.Cut(text, ",")
	first, errFirst := strconv.Atoi(strings.TrimSpace(a))
	last, errLast := strconv.Atoi(strings.TrimSpace(b))
	if errFirst != nil || errLast != nil || first < 1 || last < first {
		return 0, 0, fmt.Errorf("%q is not FIRST,LAST with layers from 1 on", text)
	}
	return first, last, nil
}

func areLayers(v any) bool {
	_, _, err := ParseLayers(v.(string))
	return err == nil
}
