// SPDX-License-Identifier: MIT

package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parse turns what a source holds (text, a YAML scalar or list) into the kind's Go type.
func (k Kind) parse(raw any) (any, error) {
	if k == List {
		return parseList(raw)
	}
	switch raw.(type) {
	case map[string]any, []any, []string:
		return nil, fmt.Errorf("not a %s", k)
	}
	text := strings.TrimSpace(fmt.Sprint(raw))
	switch k {
	case Integer:
		return parseInteger(text)
	case Number:
		if err := checkNoUnit(text); err != nil {
			return nil, err
		}
		return strconv.ParseFloat(text, 64)
	case Bytes:
		return parseBytes(text)
	case Duration:
		return parseDuration(text)
	case Switch:
		return parseSwitch(text)
	}
	return text, nil
}

func parseInteger(text string) (any, error) {
	if err := checkNoUnit(text); err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > math.MaxInt32 || n < math.MinInt32 {
		return nil, fmt.Errorf("not an integer")
	}
	return int(n), nil
}

func parseSwitch(text string) (any, error) {
	switch strings.ToLower(text) {
	case "true", "on", "yes", "1":
		return true, nil
	case "false", "off", "no", "0":
		return false, nil
	}
	return nil, fmt.Errorf("not true or false")
}

// units of sizes. KB and KiB may be written in any letters, and Ki is Kubernetes' word for KiB. K,
// M and G alone are 1000s for some and 1024s for others, so they are refused.
var units = map[string]int64{"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40, "pib": 1 << 50,
	"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40, "pi": 1 << 50}

func parseBytes(text string) (any, error) {
	number, unit := splitUnit(text)
	bytes, known := units[strings.ToLower(unit)]
	if !known {
		return nil, unitError{unit, "the units of sizes are B, KB, MB, GB and TB (thousands), KiB, MiB, GiB and TiB (1024s)"}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/bytes {
		return nil, fmt.Errorf("not a size")
	}
	return n * bytes, nil
}

// unitError is why a value with a unit is none of its kind.
type unitError struct{ unit, want string }

func (e unitError) Error() string { return fmt.Sprintf("%q is no unit here; %s", e.unit, e.want) }

// splitUnit takes a value apart into a number, or what should be one, and the letters after it.
func splitUnit(text string) (number, unit string) {
	number = strings.TrimRightFunc(text, func(r rune) bool { return !('0' <= r && r <= '9') })
	return number, strings.TrimSpace(text[len(number):])
}

// checkNoUnit is why a number cannot be read, if that is its unit.
func checkNoUnit(text string) error {
	number, unit := splitUnit(text)
	if _, err := strconv.ParseFloat(number, 64); err == nil && unit != "" {
		return unitError{unit, "it is a plain number"}
	}
	return nil
}

func parseDuration(text string) (any, error) {
	if ms, err := strconv.ParseInt(text, 10, 32); err == nil {
		return time.Duration(ms) * time.Millisecond, nil
	}
	d, err := time.ParseDuration(text)
	number, unit := splitUnit(text)
	if _, notNumber := strconv.ParseFloat(number, 64); err != nil && notNumber == nil && !slices.Contains(timeUnits, unit) {
		return nil, unitError{unit, "the units of durations are ms, s, m and h, and a plain number is milliseconds"}
	}
	return d, err
}

var timeUnits = []string{"", "ns", "us", "µs", "ms", "s", "m", "h"}

func parseList(raw any) (any, error) {
	list := []string{}
	switch v := raw.(type) {
	case []string:
		return append(list, v...), nil
	case []any:
		for _, item := range v {
			switch item.(type) {
			case map[string]any, []any, nil:
				return nil, fmt.Errorf("not a list of texts")
			}
			list = append(list, fmt.Sprint(item))
		}
		return list, nil
	case map[string]any:
		return nil, fmt.Errorf("not a list")
	}
	for item := range strings.SplitSeq(fmt.Sprint(raw), ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list, nil
}

// show prints a value as a source would write it.
func show(v any) string {
	if list, ok := v.([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v)
}
