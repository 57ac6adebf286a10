// SPDX-License-Identifier: MIT

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
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

// unitError says that a value has a unit which its kind does not know.
type unitError struct{ unit, want string }

func (e unitError) Error() string { return fmt.Sprintf("%q is no unit here; %s", e.unit, e.want) }

// splitUnit splits a value into a number, or what should be one, and the letters after it.
func splitUnit(text string) (number, unit string) {
	number = strings.TrimRightFunc(text, func(r rune) bool { return !('0' <= r && r <= '9') })
	return number, strings.TrimSpace(text[len(number):])
}

// checkNoUnit refuses a number with a unit.
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

// formatValue prints a value as a source would write it.
func formatValue(v any) string {
	if list, ok := v.([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v)
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

// Address is where a server listens: a port of a host, or a Unix socket.
type Address struct {
	Host   string // a name, or an IP address without brackets; empty: all addresses of this machine
	Port   string // a number from 0 to 65535; 0: a free one
	Socket string // the path of a Unix socket, in place of the others
}

// UnmarshalText reads HOST:PORT, or the path of a Unix socket that ends in .sock. What it does not
// understand is an error: an empty host would have the server listen on all addresses, so only
// :PORT stands for that, and not brackets with nothing in them.
func (a *Address) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAddress(string(text))
	return err
}

// ParseAddress reads an address, as UnmarshalText does.
func ParseAddress(text string) (Address, error) {
	if strings.HasSuffix(text, ".sock") {
		return parseSocket(text)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Address{}, err
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Address{}, fmt.Errorf("%q is no port", port)
	}
	if strings.HasPrefix(text, "[") && !strings.Contains(host, ":") {
		return Address{}, fmt.Errorf("there is no IPv6 address in the brackets of %q", text)
	}
	return Address{Host: host, Port: port}, checkHost(host)
}

// parseHost reads what server.host may be: as llama-server's, it is also the path of a socket, and
// an IPv6 address may have the brackets that it has before a port.
func parseHost(text string) (Address, error) {
	if strings.HasSuffix(text, ".sock") {
		return parseSocket(text)
	}
	host := text
	if within, opened := strings.CutPrefix(text, "["); opened {
		var closed bool
		host, closed = strings.CutSuffix(within, "]")
		if !closed || !strings.Contains(host, ":") {
			return Address{}, fmt.Errorf("there is no IPv6 address in the brackets of %q", text)
		}
	}
	return Address{Host: host}, checkHost(host)
}

// parseSocket refuses names in the kernel's own table, which begin with @: they have no
// permissions, so every user of the machine could connect.
func parseSocket(path string) (Address, error) {
	if strings.HasPrefix(path, "@") || strings.ContainsRune(path, 0) {
		return Address{}, fmt.Errorf("%q is no path of a file; write ./ before it", path)
	}
	return Address{Socket: path}, nil
}

// checkHost takes IP addresses, also with a zone, and what may be a host name.
func checkHost(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	wrong := strings.IndexFunc(host, func(r rune) bool { return !isLetterOrDigit(r) && !strings.ContainsRune("-._", r) && r < 0x80 })
	if wrong >= 0 {
		return fmt.Errorf("%q is neither a host name nor an IP address", host)
	}
	return nil
}

// String is the address as ParseAddress reads it.
func (a Address) String() string {
	if a.Socket != "" {
		return a.Socket
	}
	return net.JoinHostPort(a.Host, a.Port)
}

// Network is the network's name for package net. An IPv4 address is asked for by itself, since
// package net takes 0.0.0.0 for all IPv6 addresses as well.
func (a Address) Network() string {
	if a.Socket != "" {
		return "unix"
	}
	if ip, err := netip.ParseAddr(a.Host); err == nil && ip.Unmap().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// All reports whether it stands for all addresses of this machine.
func (a Address) All() bool {
	ip, err := netip.ParseAddr(a.Host)
	return a.Socket == "" && (a.Host == "" || err == nil && ip.Unmap().IsUnspecified())
}

// Loopback reports whether only this machine can connect.
func (a Address) Loopback() bool {
	ip, err := netip.ParseAddr(a.Host)
	return a.Host == "localhost" || err == nil && ip.Unmap().WithZone("").IsLoopback()
}

// CheckOpened refuses what a listener got if it is open to more than was asked for, as where a name
// means another address than it says.
func (a Address) CheckOpened(got net.Addr) error {
	tcp, isTCP := got.(*net.TCPAddr)
	switch {
	case !isTCP || a.All():
		return nil
	case tcp.IP.IsUnspecified():
		return fmt.Errorf("%s means all addresses of this machine here; write :%s if that is what you want", a, a.Port)
	case a.Loopback() && !tcp.IP.IsLoopback():
		return fmt.Errorf("%s is %s here, which other machines can reach; write that address if it is what you want", a, tcp)
	}
	return nil
}

func isLoopback(address string) bool {
	a, err := ParseAddress(address)
	return err == nil && a.Loopback()
}
