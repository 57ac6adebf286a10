// SPDX-License-Identifier: MIT

use crate::glue::Methods;
use crate::{Call, Manifest, Place, Table, View};
use alloc::string::String;
use alloc::vec::Vec;

/// What requests with one configuration need of the host. [`crate::Plugin::plan`] gets it as the
/// manifest has it, and can only lower it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Plan {
    /// Methods that are not called.
    pub without: Vec<Call>,
    /// With [`View::None`] `sample` is shown nothing.
    pub view: View,
    /// How many candidates `sample` sees at most.
    pub candidates: u32,
    /// How many tokens the plugin may take back.
    pub hold: u32,
    /// How many tokens an answer may compute beyond the usual limit.
    pub take_back: u32,
    /// The layer whose output [`crate::host::hidden_state`] gives.
    pub state_layer: i32,
    /// Where the plugin is placed in chains that do not name it.
    pub place: Place,
    /// How many branches `run` has at once.
    pub branches: u32,
    /// Whether [`crate::host::logprob`] is to return anything, if the plugin uses it.
    pub logprob: bool,
    /// Whether [`crate::host::hidden_state`] is to return anything, if the plugin uses it.
    pub hidden_state: bool,
    /// Whether the trace is to have the plugin's notes.
    pub notes: bool,
    /// What [`crate::table()`] returns in requests with this configuration; none: what
    /// [`crate::Plugin::warm`] built.
    pub table: Option<Table>,
}

impl Plan {
    pub(crate) fn of(manifest: &Manifest) -> Plan {
        Plan {
            without: Vec::new(),
            view: manifest.view,
            candidates: manifest.candidates,
            hold: manifest.hold,
            take_back: manifest.take_back,
            state_layer: manifest.state_layer,
            place: manifest.place,
            branches: manifest.branches,
            logprob: true,
            hidden_state: true,
            notes: true,
            table: None,
        }
    }

    /// What differs from the manifest, as the host reads it.
    pub(crate) fn json(&self, manifest: &Manifest, methods: &Methods) -> String {
        let mut fields: Vec<String> = Vec::new();
        if !self.without.is_empty() {
            fields.push(alloc::format!(r#""implements":{}"#, methods.json(&self.without)));
        }
        if self.view != manifest.view {
            fields.push(String::from(r#""view":"none""#));
        }
        match self.place {
            place if place == manifest.place => {}
            Place::First => fields.push(String::from(r#""place":"first""#)),
            Place::Last => fields.push(String::from(r#""place":"last""#)),
            Place::ByView => {}
        }
        for (name, now, before) in [
            ("candidates", self.candidates, manifest.candidates),
            ("hold", self.hold, manifest.hold),
            ("take_back", self.take_back, manifest.take_back),
            ("branches", self.branches, manifest.branches),
        ] {
            if now != before {
                fields.push(alloc::format!(r#""{}":{}"#, name, now));
            }
        }
        if self.state_layer != manifest.state_layer {
            fields.push(alloc::format!(r#""state_layer":{}"#, self.state_layer));
        }
        let needs = [(self.logprob, r#""logprob""#), (self.hidden_state, r#""hidden_state""#), (self.notes, r#""note""#)];
        if needs.iter().any(|(needed, _)| !needed) {
            let needed: Vec<&str> = needs.iter().filter(|(needed, _)| *needed).map(|(_, name)| *name).collect();
            fields.push(alloc::format!(r#""needs":[{}]"#, needed.join(",")));
        }
        alloc::format!("{{{}}}", fields.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_json_is_what_differs() {
        let manifest = Manifest { hold: 3, branches: 4, ..Manifest::DEFAULT };
        let methods = Methods { plan: true, sample: true, accept: true, run: true, ..Methods::NONE };
        let mut plan = Plan::of(&manifest);
        assert_eq!(plan.json(&manifest, &methods), "{}");
        plan.without = alloc::vec![Call::Sample, Call::Run];
        plan.hold = 0;
        plan.hidden_state = false;
        plan.place = Place::First;
        plan.view = View::None;
        let want = r#"{"implements":["penstock_open","penstock_plan","penstock_accept"],"view":"none","place":"first","hold":0,"needs":["logprob","note"]}"#;
        assert_eq!(plan.json(&manifest, &methods), want);
    }
}
