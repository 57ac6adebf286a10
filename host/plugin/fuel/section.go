// SPDX-License-Identifier: MIT

package fuel

// Section ids of the binary format.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
	sections
)

// order is the order in which sections stand, which is not that of their ids.
var order = [...]byte{secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport, secStart, secElement, secDataCount, secCode, secData}

// layout holds a reader for each section; nil = absent.
type layout struct {
	body  [sections]*reader
	names *reader // the custom section "name", after its name
	lined bool    // it has a section ".debug_line"
}

// mostCustom bounds the custom sections. Toolchains write about ten.
const mostCustom = 1000

// split cuts the module into sections and checks their order. Custom
// sections other than the first "name" are dropped.
func split(wasm []byte) (*layout, error) {
	r := &reader{data: wasm}
	if magic := r.bytes(8); string(magic) != "\x00asm\x01\x00\x00\x00" {
		r.err = nil
		r.fail(ErrMalformed, "no WebAssembly 1 header")
		return nil, r.err
	}
	var rank [sections]int
	for i, id := range order {
		rank[id] = i + 1
	}
	l, last, custom := &layout{}, 0, 0
	for r.more() {
		id := r.byte()
		body := r.sub(int(r.u32()))
		switch {
		case r.err != nil:
		case id == secCustom && custom == mostCustom:
			r.fail(ErrLimit, "more than %d custom sections", mostCustom)
		case id == secCustom:
			custom++
			if name := string(body.bytes(int(body.u32()))); body.err != nil {
				return nil, body.err
			} else if name == "name" && l.names == nil {
				l.names = body
			} else if name == ".debug_line" {
				l.lined = true
			}
		case int(id) >= sections:
			r.fail(ErrUnsupported, "section %d", id)
		case rank[id] <= last:
			r.fail(ErrMalformed, "section %d out of order or twice", id)
		default:
			last, l.body[id] = rank[id], body
		}
	}
	return l, r.err
}
