// SPDX-License-Identifier: MIT

//! Writes which methods a plugin has; the SDK exports all calls.

use crate::read::Plugin;
use crate::Wrong;
use proc_macro::TokenStream;

/// The methods that an author may leave out. `open` is always there.
const METHODS: [&str; 12] =
    ["warm", "rewrite", "render", "draft", "prepare", "sample", "sample_row", "accept", "stop", "rewind", "run", "close"];

/// Code that exports the plugin; `std` says whether its crate has std.
pub(crate) fn exports(plugin: &Plugin, std: bool) -> TokenStream {
    let has = |name: &str| plugin.methods.iter().find(|m| m.to_string() == name);
    if let (Some(_), Some(second)) = (has("sample"), has("sample_row")) {
        return Wrong::at(second.span(), "a plugin has `sample` for candidates or `sample_row` for the whole row, not both").told();
    }
    if has("run").is_some() {
        let other = METHODS.iter().filter(|m| !["warm", "run", "close"].contains(m)).find_map(|m| has(m));
        if let Some(other) = other {
            let wrong = format!("a plugin with `run` writes the answer itself; take `{}` or `run` out", other);
            return Wrong::at(other.span(), wrong).told();
        }
    }
    let fields: String = METHODS.iter().filter(|m| has(m).is_some()).map(|m| format!("{}: true, ", m)).collect();
    let name = &plugin.name;
    let code = format!(
        r#"
        #[doc(hidden)]
        impl ::penstock::glue::Exported for {name} {{
            const METHODS: ::penstock::glue::Methods = ::penstock::glue::Methods {{ {fields} ..::penstock::glue::Methods::NONE }};
        }}
        ::penstock::exports!({std} {name});
        "#,
        std = if std { "std" } else { "no_std" }
    );
    code.parse().expect("it is Rust")
}
