// SPDX-License-Identifier: MIT

package config

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// reads is a key's check: each text of its value is one that a T reads, as the field of Config does
// when the configuration is loaded.
func reads[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](v any) bool {
	texts, isList := v.([]string)
	if !isList {
		texts = []string{v.(string)}
	}
	for _, text := range texts {
		if P(new(T)).UnmarshalText([]byte(text)) != nil {
			return false
		}
	}
	return true
}

// Scaled is the file of an adapter or a control vector, and how strongly it counts.
type Scaled struct {
	Path  string
	Scale float32
}

// UnmarshalText reads FILE:SCALE.
func (s *Scaled) UnmarshalText(text []byte) error {
	path, scale, found := cutLast(string(text), ":")
	f, err := strconv.ParseFloat(scale, 32)
	if !found || path == "" || err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%q is not FILE:SCALE with a number as the scale", text)
	}
	*s = Scaled{path, float32(f)}
	return nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

// Layers are those from First to Last, from 1 on. The zero value says nothing of layers.
type Layers struct{ First, Last int }

// UnmarshalText reads FIRST,LAST, or nothing.
func (l *Layers) UnmarshalText(text []byte) error {
	*l = Layers{}
	if len(text) == 0 {
		return nil
	}
	a, b, _ := strings.Cut(string(text), ",")
	first, errFirst := strconv.Atoi(strings.TrimSpace(a))
	last, errLast := strconv.Atoi(strings.TrimSpace(b))
	if errFirst != nil || errLast != nil || first < 1 || last < first {
		return fmt.Errorf("%q is not FIRST,LAST with layers from 1 on", text)
	}
	*l = Layers{first, last}
	return nil
}

// Shares are parts of a whole, one for each device; they need not add up to 1.
type Shares []float32

// UnmarshalText reads numbers with commas or slashes between them; an empty text has none.
func (s *Shares) UnmarshalText(text []byte) error {
	var shares Shares
	sum := 0.0
	for field := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r == ',' || r == '/' }) {
		share, err := strconv.ParseFloat(strings.TrimSpace(field), 32)
		if err != nil || !(share >= 0) || math.IsInf(share, 1) {
			return fmt.Errorf("%q is no share: it must be a number from 0 on", field)
		}
		shares = append(shares, float32(share))
		sum += share
	}
	if len(text) > 0 && sum == 0 {
		return fmt.Errorf("%q gives no device anything", text)
	}
	*s = shares
	return nil
}

// TensorOverride has the tensors whose names a regular expression matches kept in a buffer.
type TensorOverride struct{ Pattern, Buffer string }

// UnmarshalText reads PATTERN=BUFFER.
func (o *TensorOverride) UnmarshalText(text []byte) error {
	pattern, buffer, _ := strings.Cut(string(text), "=")
	if pattern == "" || buffer == "" {
		return fmt.Errorf("%q is not PATTERN=BUFFER", text)
	}
	*o = TensorOverride{pattern, buffer}
	return nil
}

// MetadataOverride is an entry of a model file's metadata that counts in place of the file's.
type MetadataOverride struct {
	Key   string
	Type  string // int, float, bool, str
	Value string
}

// UnmarshalText reads KEY=TYPE:VALUE.
func (o *MetadataOverride) UnmarshalText(text []byte) (err error) {
	key, typed, _ := strings.Cut(string(text), "=")
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
		return fmt.Errorf("%q is not KEY=TYPE:VALUE: %w", text, err)
	}
	*o = MetadataOverride{key, kind, value}
	return nil
}

// Network is a network, or a single address as the network that has it alone.
type Network struct{ netip.Prefix }

// UnmarshalText reads an address, or one with the length of its network behind a slash.
func (n *Network) UnmarshalText(text []byte) error {
	if ip := net.ParseIP(string(text)); ip != nil {
		a, _ := netip.AddrFromSlice(ip)
		a = a.Unmap()
		n.Prefix = netip.PrefixFrom(a, a.BitLen())
		return nil
	}
	_, network, err := net.ParseCIDR(string(text))
	if err != nil {
		return err
	}
	a, _ := netip.AddrFromSlice(network.IP)
	bits, _ := network.Mask.Size()
	n.Prefix = netip.PrefixFrom(a, bits)
	return nil
}

// IPNet is the network for package net.
func (n Network) IPNet() *net.IPNet {
	return &net.IPNet{IP: n.Addr().AsSlice(), Mask: net.CIDRMask(n.Bits(), n.Addr().BitLen())}
}

// Object is a JSON object.
type Object map[string]json.RawMessage

// UnmarshalText reads one; an empty text is one without members.
func (o *Object) UnmarshalText(text []byte) error {
	*o = Object{}
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, (*map[string]json.RawMessage)(o)); err != nil {
		return err
	}
	if *o == nil {
		return errors.New("null is no object")
	}
	return nil
}
