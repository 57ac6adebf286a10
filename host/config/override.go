// SPDX-License-Identifier: MIT

package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ParseShares reads numbers with commas or slashes between them; an empty text has none.
func ParseShares(text string) ([]float32, error) {
	var shares []float32
	sum := 0.0
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '/' }) {
		share, err := strconv.ParseFloat(strings.TrimSpace(field), 32)
		if err != nil || !(share >= 0) || math.IsInf(share, 1) {
			return nil, fmt.Errorf("%q is no share: it must be a number from 0 on", field)
		}
		shares = append(shares, float32(share))
		sum += share
	}
	if text != "" && sum == 0 {
		return nil, fmt.Errorf("%q gives no device anything", text)
	}
	return shares, nil
}

func areShares(v any) bool {
	_, err := ParseShares(v.(string))
	return err == nil
}

// ParseTensorOverride reads PATTERN=BUFFER.
func ParseTensorOverride(text string) (pattern, buffer string, err error) {
	pattern, buffer, found := strings.Cut(text, "=")
	if !found || pattern == "" || buffer == "" {
		return "", "", fmt.Errorf("%q is not PATTERN=BUFFER", text)
	}
	return pattern, buffer, nil
}

func areTensorOverrides(v any) bool {
	return !slices.ContainsFunc(v.([]string), func(s string) bool { _, _, err := ParseTensorOverride(s); return err != nil })
}

// ParseMetadataOverride reads KEY=TYPE:VALUE.
func ParseMetadataOverride(text string) (key, kind, value string, err error) {
	key, typed, _ := strings.Cut(text, "=")
	kind, value, found := strings.Cut(typed, ":")
	switch kind {
	case "int":
		_, err = strconv.ParseInt(value, 10, 64)
	case "float":
		_, err = strconv.ParseFloat(value, 64)
	case "bool":
		if value != "true" && value != "false" {
			err = fmt.Errorf("%q is neither true nor false", value)
		}
	case "str":
	default:
		err = fmt.Errorf("%q is none of the types int, float, bool and str", kind)
	}
	if err != nil || !found || key == "" {
		return "", "", "", fmt.Errorf("%q is not KEY=TYPE:VALUE: %w", text, err)
	}
	return key, kind, value, nil
}

func areMetadataOverrides(v any) bool {
	return !slices.ContainsFunc(v.([]string), func(s string) bool { _, _, _, err := ParseMetadataOverride(s); return err != nil })
}
