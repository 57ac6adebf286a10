// SPDX-License-Identifier: MIT

//! Writes the exports of a plugin.

use crate::read::Plugin;
use crate::Wrong;
use proc_macro::TokenStream;

/// A method with the export that calls it: its name, the parameters and what they are handed on
/// as, and the result.
struct Export {
    method: &'static str,
    name: &'static str,
    parameters: &'static str,
    arguments: &'static str,
    result: &'static str,
}

const fn export(
    method: &'static str,
    name: &'static str,
    parameters: &'static str,
    arguments: &'static str,
    result: &'static str,
) -> Export {
    Export { method, name, parameters, arguments, result }
}

/// The methods that an author may leave out. `open` is always there.
const EXPORTS: &[Export] = &[
    export("warm", "warm", "", "", "-> i32"),
    export("rewrite", "messages", "", "", "-> i32"),
    export("render", "template", "", "", "-> i32"),
    export("draft", "draft", "n: i32", "n", "-> i32"),
    export("prepare", "prepare", "", "", "-> i32"),
    export("sample", "sample", "n: i32", "n", "-> i32"),
    export("sample_row", "sample", "n: i32", "n", "-> i32"),
    export("accept", "accept", "token: i32", "token", "-> i32"),
    export("stop", "stop", "token: i32, len: i32", "token, len", "-> i32"),
    export("rewind", "rewind", "len: i32", "len", "-> i32"),
    export("run", "run", "", "", "-> i32"),
    export("close", "close", "", "", ""),
];

/// Code that exports the plugin; `std` says whether its crate has std.
pub(crate) fn exports(plugin: &Plugin, std: bool) -> TokenStream {
    let has = |name: &str| plugin.methods.iter().find(|m| m.to_string() == name);
    if let (Some(_), Some(second)) = (has("sample"), has("sample_row")) {
        return Wrong::at(second.span(), "a plugin has `sample` for candidates or `sample_row` for the whole row, not both").told();
    }
    if has("run").is_some() {
        let other = EXPORTS.iter().filter(|e| !["warm", "run", "close"].contains(&e.method)).find_map(|e| has(e.method));
        if let Some(other) = other {
            let wrong = format!("a plugin with `run` writes the answer itself; take `{}` or `run` out", other);
            return Wrong::at(other.span(), wrong).told();
        }
    }
    let exported = || EXPORTS.iter().filter(|e| has(e.method).is_some());
    let fields: String = exported().map(|e| format!("{}: true, ", e.method)).collect();
    let functions: String = exported().map(function).collect();
    let hook = if std {
        // The message of std about a panic goes to the host; then std traps.
        "::std::panic::set_hook(::std::boxed::Box::new(|info| ::penstock::host::panicked(info)));"
    } else {
        ""
    };
    let name = &plugin.name;
    let code = format!(
        r#"
        #[doc(hidden)]
        impl ::penstock::glue::Exported for {name} {{
            const METHODS: ::penstock::glue::Methods = ::penstock::glue::Methods {{ {fields} ..::penstock::glue::Methods::NONE }};
        }}

        #[cfg(target_arch = "wasm32")]
        const _: () = {{
            static INSTANCE: ::penstock::glue::Place<{name}> = ::penstock::glue::Place::new();

            fn begin() {{ {hook} }}

            #[no_mangle]
            pub extern "C" fn penstock_abi_v1() {{}} // never called: its presence is the version

            #[no_mangle]
            pub extern "C" fn penstock_describe() {{
                begin();
                INSTANCE.instance().describe();
            }}

            #[no_mangle]
            pub extern "C" fn penstock_open() -> i32 {{
                begin();
                INSTANCE.instance().open()
            }}

            {functions}
        }};
        "#
    );
    code.parse().expect("it is Rust")
}

/// The function that the host calls. Only warm comes before open, and so hooks panics itself.
fn function(e: &Export) -> String {
    let begin = if e.method == "warm" { "begin();" } else { "" };
    format!(
        r#"
        #[no_mangle]
        pub extern "C" fn penstock_{}({}) {} {{
            {}
            INSTANCE.instance().{}({})
        }}
        "#,
        e.name, e.parameters, e.result, begin, e.method, e.arguments
    )
}
