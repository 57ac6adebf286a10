// SPDX-License-Identifier: MIT

package format

// uriRules are those of RFC 3986, appendix A. A host's IPv4address is a reg-name, too.
const uriRules = `
DIGIT          = %x30-39
ALPHA          = %x41-5A / %x61-7A
HEXDIG         = DIGIT / %x41-46 / %x61-66
uri            = scheme ":" hier-part ["?" query] ["#" fragment]
uri-reference  = uri / relative-part ["?" query] ["#" fragment]
scheme         = ALPHA *(ALPHA / DIGIT / "+" / "-" / ".")
hier-part      = "//" authority path-abempty / path-absolute / path-rootless / ""
relative-part  = "//" authority path-abempty / path-absolute / path-noscheme / ""
authority      = [userinfo "@"] host [":" *DIGIT]
userinfo       = *(unreserved / pct-encoded / sub-delims / ":")
host           = "[" (ipv6 / "v" 1*HEXDIG "." 1*(unreserved / sub-delims / ":")) "]" / *(unreserved / pct-encoded / sub-delims)
path-abempty   = *("/" *pchar)
path-absolute  = "/" [1*pchar path-abempty]
path-rootless  = 1*pchar path-abempty
path-noscheme  = 1*(unreserved / pct-encoded / sub-delims / "@") path-abempty
pchar          = unreserved / pct-encoded / sub-delims / ":" / "@"
query          = *(pchar / iprivate / "/" / "?")
fragment       = *(pchar / "/" / "?")
pct-encoded    = "%" 2HEXDIG
sub-delims     = "!" / "$" / "&" / "'" / "(" / ")" / "*" / "+" / "," / ";" / "="
`

// iriRules names what RFC 3987 calls otherwise.
const iriRules = uriRules + wideRules + `
iri            = uri
iri-reference  = uri-reference
`

// asciiRules and wideRules are in what URIs and IRIs (RFC 3987, section 2.2) differ.
const (
	asciiRules = `
unreserved     = ALPHA / DIGIT / "-" / "." / "_" / "~"
iprivate       = unreserved
`
	wideRules = `
unreserved     = ALPHA / DIGIT / "-" / "." / "_" / "~" / ucschar
ucschar        = %xA0-D7FF / %xF900-FDCF / %xFDF0-FFEF / %x10000-1FFFD / %x20000-2FFFD / %x30000-3FFFD
               / %x40000-4FFFD / %x50000-5FFFD / %x60000-6FFFD / %x70000-7FFFD / %x80000-8FFFD / %x90000-9FFFD
               / %xA0000-AFFFD / %xB0000-BFFFD / %xC0000-CFFFD / %xD0000-DFFFD / %xE1000-EFFFD
iprivate       = %xE000-F8FF / %xF0000-FFFFD / %x100000-10FFFD
`
)

// templateRules are those of RFC 6570, section 2. Operators that the standard reserves are left out; an erratum adds the apostrophe.
const templateRules = `
ALPHA          = %x41-5A / %x61-7A
DIGIT          = %x30-39
HEXDIG         = DIGIT / %x41-46 / %x61-66
uri-template   = *(literals / "{" [operator] varspec *("," varspec) "}")
literals       = %x21 / %x23-24 / %x26-3B / %x3D / %x3F-5B / %x5D / %x5F / %x61-7A / %x7E / "%" 2HEXDIG / ucschar / iprivate
operator       = "+" / "#" / "." / "/" / ";" / "?" / "&"
varspec        = varchar *(["."] varchar) [":" %x31-39 *3DIGIT / "*"]
varchar        = ALPHA / DIGIT / "_" / "%" 2HEXDIG
`

// pointerRules are those of RFC 6901, section 3, and of relative JSON pointers.
const pointerRules = `
json-pointer   = *("/" *(%x00-2E / %x30-7D / %x7F-10FFFF / "~0" / "~1"))
relative-json-pointer = ("0" / %x31-39 *%x30-39) ("#" / json-pointer)
`
