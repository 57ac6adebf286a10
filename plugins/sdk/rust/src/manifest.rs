// SPDX-License-Identifier: MIT

use crate::json::quote;
use alloc::string::String;

/// What a plugin says about itself. The view is not part of it: it follows from the traits that are exported.
///
/// ```
/// use penstock::Manifest;
/// const MANIFEST: Manifest = Manifest { name: "min-p", summary: "Drops unlikely tokens", ..Manifest::DEFAULT };
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Manifest {
    /// `[a-z0-9][a-z0-9._-]{0,63}`: what requests call it by.
    pub name: &'static str,
    /// Any text.
    pub version: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// How many candidates a [`crate::Sampler`] sees at most, 1–4096.
    pub candidates: u32,
    /// How many tokens the plugin may take back, 0–256; the stream runs that far behind.
    pub hold: u32,
    /// Where the plugin stands in chains that do not name it, `first` or `last`; empty: last where it sees candidates.
    pub place: &'static str,
    /// A JSON schema that requests' `config` must fit.
    pub config_schema: &'static str,
}

impl Manifest {
    /// 256 candidates, nothing held, any object as config.
    pub const DEFAULT: Manifest = Manifest {
        name: "",
        version: "1.0.0",
        summary: "",
        candidates: crate::abi::LIMIT_DEFAULT_CANDIDATES as u32,
        hold: 0,
        place: "",
        config_schema: r#"{"type":"object"}"#,
    };

    pub(crate) fn json(&self, view: &str) -> String {
        let place = if self.place.is_empty() { String::new() } else { alloc::format!(r#""place":{},"#, quote(self.place)) };
        alloc::format!(
            r#"{{"name":{},"version":{},"summary":{},"view":"{}",{}"candidates":{},"hold":{},"config_schema":{}}}"#,
            quote(self.name),
            quote(self.version),
            quote(self.summary),
            view,
            place,
            self.candidates,
            self.hold,
            self.config_schema
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn manifest_json_is_what_the_host_reads() {
        let manifest = Manifest { name: "a", summary: "say \"hi\"", hold: 3, ..Manifest::DEFAULT };
        let value = json::parse(&manifest.json("none")).unwrap();
        assert_eq!(value.get("name").and_then(json::Value::text), Some("a"));
        assert_eq!(value.get("summary").and_then(json::Value::text), Some("say \"hi\""));
        assert_eq!(value.get("view").and_then(json::Value::text), Some("none"));
        assert_eq!(value.get("hold").and_then(json::Value::integer), Some(3));
        assert_eq!(value.get("place"), None);
        let placed = json::parse(&Manifest { place: "first", ..manifest }.json("none")).unwrap();
        assert_eq!(placed.get("place").and_then(json::Value::text), Some("first"));
        assert!(value.get("config_schema").unwrap().get("type").is_some());
    }
}
