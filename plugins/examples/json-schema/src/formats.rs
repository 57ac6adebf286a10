// SPDX-License-Identifier: MIT

//! Formats as regular expressions. Each is what its RFC says or a part of it, so that every implementation takes what is written.

use crate::regex::Regex;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

const DATE: &str = concat!(
    r"(?:\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))",
    r"|(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
);

/// A leap second only where there is no offset, since each offset has another time for it.
const TIME: &str = concat!(
    r"(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
    r"|23:59:60(?:\.\d+)?(?:[Zz]|[+-]00:00))"
);

const DURATION: &str = r"P(?:\d+W|(?:\d+D|\d+M(?:\d+D)?|\d+Y(?:\d+M(?:\d+D)?)?)(?:TIME)?|TIME)";
const DURATION_TIME: &str = r"T(?:\d+S|\d+M(?:\d+S)?|\d+H(?:\d+M(?:\d+S)?)?)";

/// Not those with hyphens as the third and fourth character: what these stand for would have to be decoded.
const LABEL: &str = "(?:A|AA|AHA|AHHA|AH(?:AH|-A)H{0,58}A)";

const IPV4: &str = r"(?:BYTE\.){3}BYTE";
const BYTE: &str = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)";

const IPV6: &str = concat!(
    "(?:(?:H:){6}L|::(?:H:){5}L|H?::(?:H:){4}L|(?:(?:H:){0,1}H)?::(?:H:){3}L|(?:(?:H:){0,2}H)?::(?:H:){2}L",
    "|(?:(?:H:){0,3}H)?::H:L|(?:(?:H:){0,4}H)?::L|(?:(?:H:){0,5}H)?::H|(?:(?:H:){0,6}H)?::)"
);

const UUID: &str = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";

const POINTER: &str = "(?:/(?:[^~/]|~[01])*)*";

/// The part before the @.
const LOCAL: &str = r#"(?:ATOM(?:\.ATOM)*|"[ !#-?A-\[\]-~]*")"#;
const ATOM: &str = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";

const AUTHORITY: &str = r"//(?:(?:C|:)*@)?(?:\[IPV6\]|[A-Za-z0-9._~!$&'()*+,;=-]*)(?::\d*)?(?:/(?:C|[:@])*)*";
const ABSOLUTE: &str = "/(?:(?:C|[:@])+(?:/(?:C|[:@])*)*)?";
const ROOTLESS: &str = "(?:C|[:@])+(?:/(?:C|[:@])*)*";
const RELATIVE: &str = "(?:C|@)+(?:/(?:C|[:@])*)*";
const REST: &str = r"(?:\?(?:C|[:@/?])*)?(?:#(?:C|[:@/?])*)?";
const URI_CHARACTER: &str = "(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})";

/// Formats that are followed.
pub const NAMES: &str =
    "date, time, date-time, duration, email, hostname, ipv4, ipv6, uri, uri-reference, uuid, json-pointer and relative-json-pointer";

/// What a format demands.
pub struct Format {
    /// All of these must match.
    pub patterns: Vec<Regex>,
    /// Characters at most.
    pub most: u32,
}

/// What the format of this name demands; none: it is not known.
pub fn named(name: &str) -> Option<Format> {
    let (texts, most) = match name {
        "date" => (alloc::vec![DATE.to_string()], u32::MAX),
        "time" => (alloc::vec![TIME.to_string()], u32::MAX),
        "date-time" => (alloc::vec![format!("{}[Tt]{}", DATE, TIME)], u32::MAX),
        "duration" => (alloc::vec![DURATION.replace("TIME", DURATION_TIME)], u32::MAX),
        "email" => (alloc::vec![email(), "[^@]{1,64}@[^@]*".to_string()], 254),
        "hostname" => (alloc::vec![hostname()], 253),
        "ipv4" => (alloc::vec![ipv4()], u32::MAX),
        "ipv6" => (alloc::vec![ipv6()], u32::MAX),
        "uri" => (alloc::vec![uri(true)], u32::MAX),
        "uri-reference" => (alloc::vec![uri(false)], u32::MAX),
        "uuid" => (alloc::vec![UUID.to_string()], u32::MAX),
        "json-pointer" => (alloc::vec![POINTER.to_string()], u32::MAX),
        "relative-json-pointer" => (alloc::vec![format!(r"(?:0|[1-9]\d*)(?:#|{})", POINTER)], u32::MAX),
        _ => return None,
    };
    let patterns = texts.iter().map(|text| Regex::new(&format!("^(?:{})$", text)));
    Some(Format { patterns: patterns.collect::<Result<_, String>>().ok()?, most })
}

fn ipv4() -> String {
    IPV4.replace("BYTE", BYTE)
}

fn ipv6() -> String {
    let last = format!("(?:H:H|{})", ipv4());
    IPV6.replace('L', &last).replace('H', "[0-9A-Fa-f]{1,4}")
}

fn hostname() -> String {
    let label: String = LABEL
        .chars()
        .map(|c| match c {
            'A' => "[A-Za-z0-9]".to_string(),
            'H' => "[A-Za-z0-9-]".to_string(),
            c => c.to_string(),
        })
        .collect();
    format!(r"{}(?:\.{})*", label, label)
}

fn email() -> String {
    let local = LOCAL.replace("ATOM", ATOM);
    format!(r"{}@(?:{}|\[{}\]|\[IPv6:{}\])", local, hostname(), ipv4(), ipv6())
}

fn uri(whole: bool) -> String {
    let scheme = format!("[A-Za-z][A-Za-z0-9+.-]*:(?:{}|{}|{})?", AUTHORITY, ABSOLUTE, ROOTLESS);
    let relative = format!("(?:{}|{}|{})?", AUTHORITY, ABSOLUTE, RELATIVE);
    let text = if whole { format!("(?:{}){}", scheme, REST) } else { format!("(?:{}|{}){}", scheme, relative, REST) };
    text.replace('C', URI_CHARACTER).replace("IPV6", &ipv6())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_regular_expressions() {
        for name in NAMES.replace(" and ", ", ").split(", ") {
            assert!(named(name).is_some(), "{}", name);
        }
        assert!(named("regex").is_none());
    }
}
