// SPDX-License-Identifier: MIT

package config

import (
	"fmt"
	"math"
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

var units = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}

func parseBytes(text string) (any, error) {
	for _, u := range units {
		digits, found := strings.CutSuffix(text, u.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			break
		}
		return n * u.bytes, nil
	}
	return nil, fmt.Errorf("not a size")
}

func parseDuration(text string) (any, error) {
	if ms, err := strconv.ParseInt(text, 10, 32); err == nil {
		return time.Duration(ms) * time.Millisecond, nil
	}
	return time.ParseDuration(text)
}

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
