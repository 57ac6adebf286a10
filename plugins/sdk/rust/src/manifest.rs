// SPDX-License-Identifier: MIT

use crate::glue::Methods;
use crate::json::quote;
use alloc::string::String;

/// The description of a plugin.
///
/// ```
/// use penstock::Manifest;
/// const MANIFEST: Manifest = Manifest {
///     name: "min-p", summary: "Drops unlikely tokens", ..Manifest::DEFAULT
/// };
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Manifest {
    /// `[a-z0-9][a-z0-9._-]{0,63}`: the name that requests use.
    pub name: &'static str,
    /// Any text.
    pub version: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// What a sampler sees.
    pub view: View,
    /// The maximum number of candidates that [`crate::Plugin::sample`] sees, 1–4096.
    pub candidates: u32,
    /// How many tokens the plugin may take back, 0–256; the stream runs that far behind.
    pub hold: u32,
    /// How many tokens an answer may compute beyond the usual limit, 0–1,000,000: for a plugin that
    /// takes many back for each that stays.
    pub take_back: u32,
    /// The layer whose output [`crate::host::hidden_state`] gives: 1 is the first, −1 the last one,
    /// and 0 the last one after the norm.
    pub state_layer: i32,
    /// Tokens that other plugins force, choose or splice must be allowed by the mask of
    /// [`crate::Plugin::prepare`]; else those plugins are at fault.
    pub strict_mask: bool,
    /// Where the plugin is placed in chains that do not name it.
    pub place: Place,
    /// How many entries [`crate::Next::bias`] and [`crate::Candidates::bias`] have room for.
    pub biases: u32,
    /// How many tokens [`crate::Next::force`] and [`crate::Accepted::Splice`] have room for.
    pub splice: u32,
    /// How many branches [`crate::Plugin::run`] has at once, 1–64; each takes a slot.
    pub branches: u32,
    /// The name of a number in the config with which a request asks for fewer branches; empty:
    /// none.
    pub branches_config: &'static str,
    /// A JSON schema that requests' `config` must fit. Its defaults are filled in before the
    /// plugin sees the config.
    pub config_schema: &'static str,
}

/// What a sampler sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Candidates in [`crate::Plugin::sample`], the whole row in [`crate::Plugin::sample_row`].
    ByMethod,
    /// Nothing: for a sampler that uses only the history. Its `sample` gets no candidates.
    None,
}

/// Where a plugin is placed in a chain that does not name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Last if it sees candidates, else first.
    ByView,
    /// Before the chain's own stages.
    First,
    /// After them.
    Last,
}

impl Manifest {
    /// 256 candidates, biases and spliced tokens, nothing held, any object as config.
    pub const DEFAULT: Manifest = Manifest {
        name: "",
        version: "1.0.0",
        summary: "",
        view: View::ByMethod,
        candidates: crate::abi::LIMIT_DEFAULT_CANDIDATES as u32,
        hold: 0,
        take_back: 0,
        state_layer: 0,
        strict_mask: false,
        place: Place::ByView,
        biases: 256,
        splice: 256,
        branches: 1,
        branches_config: "",
        config_schema: r#"{"type":"object"}"#,
    };

    pub(crate) fn json(&self, methods: &Methods) -> String {
        let place = match self.place {
            Place::ByView => "",
            Place::First => r#""place":"first","#,
            Place::Last => r#""place":"last","#,
        };
        let view = match (self.view, methods.sample, methods.sample_row) {
            (View::ByMethod, true, _) => "candidates",
            (View::ByMethod, _, true) => "logits",
            _ => "none",
        };
        let branches = match (methods.run, self.branches_config) {
            (false, _) => String::new(),
            (true, "") => alloc::format!(r#""branches":{},"#, self.branches),
            (true, config) => alloc::format!(r#""branches":{},"branches_config":{},"#, self.branches, quote(config)),
        };
        let layer = match self.state_layer {
            0 => String::new(),
            n => alloc::format!(r#""state_layer":{},"#, n),
        };
        let optional = if methods.plan { r#""optional":["penstock_plan"],"# } else { "" }; // hosts that do not know it load the plugin
        alloc::format!(
            r#"{{"name":{},"version":{},"summary":{},"view":"{}",{}"candidates":{},"hold":{},"take_back":{},"strict_mask":{},{}{}{}"implements":{},"config_schema":{}}}"#,
            quote(self.name),
            quote(self.version),
            quote(self.summary),
            view,
            place,
            self.candidates,
            self.hold,
            self.take_back,
            self.strict_mask,
            layer,
            branches,
            optional,
            methods.json(&[]),
            self.config_schema
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use alloc::string::ToString;

    #[test]
    fn manifest_json_is_what_the_host_reads() {
        let manifest = Manifest { name: "a", summary: "say \"hi\"", hold: 3, ..Manifest::DEFAULT };
        let value = json::parse(&manifest.json(&Methods::NONE)).unwrap();
        assert_eq!(value.get("name").and_then(json::Value::text), Some("a"));
        assert_eq!(value.get("summary").and_then(json::Value::text), Some("say \"hi\""));
        assert_eq!(value.get("hold").and_then(json::Value::integer), Some(3));
        assert_eq!(value.get("place"), None);
        assert_eq!(value.get("implements").unwrap().to_string(), r#"["penstock_open"]"#);
        let placed = json::parse(&Manifest { place: Place::First, ..manifest }.json(&Methods::NONE)).unwrap();
        assert_eq!(placed.get("place").and_then(json::Value::text), Some("first"));
        assert!(value.get("config_schema").unwrap().get("type").is_some());
    }

    #[test]
    fn manifest_of_a_program_says_how_many_branches_it_has() {
        let all = Methods { warm: true, sample_row: true, accept: true, close: true, ..Methods::NONE };
        assert_eq!(all.json(&[]), r#"["penstock_open","penstock_warm","penstock_sample","penstock_accept","penstock_close"]"#);
        let run = Methods { run: true, ..Methods::NONE };
        let manifest = Manifest { branches: 4, branches_config: "width", ..Manifest::DEFAULT };
        let value = json::parse(&manifest.json(&run)).unwrap();
        assert_eq!(value.get("branches").and_then(json::Value::integer), Some(4));
        assert_eq!(value.get("branches_config").and_then(json::Value::text), Some("width"));
        assert_eq!(json::parse(&Manifest::DEFAULT.json(&run)).unwrap().get("branches_config"), None);
        assert_eq!(json::parse(&manifest.json(&Methods::NONE)).unwrap().get("branches"), None);
    }

    #[test]
    fn manifest_view_follows_from_the_methods() {
        let sample = Methods { sample: true, ..Methods::NONE };
        let sample_row = Methods { sample_row: true, ..Methods::NONE };
        for (view, methods, want) in [
            (View::ByMethod, sample, "candidates"),
            (View::ByMethod, sample_row, "logits"),
            (View::ByMethod, Methods::NONE, "none"),
            (View::None, sample, "none"),
        ] {
            let manifest = json::parse(&Manifest { view, ..Manifest::DEFAULT }.json(&methods)).unwrap();
            assert_eq!(manifest.get("view").and_then(json::Value::text), Some(want));
        }
    }
}
