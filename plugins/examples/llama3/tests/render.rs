// SPDX-License-Identifier: MIT

use llama3::Llama3;
use penstock::testing::{Request, Session};

fn render(messages: &str) -> Result<String, String> {
    Session::<Llama3>::open(Request::new().messages(messages)).render()
}

#[test]
fn llama3_renders_a_conversation() {
    let got = render(r#"[{"role":"system","content":" be brief\n"},{"role":"user","content":"hi"},{"role":"tool","content":"4"}]"#);
    let want = "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nbe brief<|eot_id|>\
        <|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n4<|eot_id|>\
        <|start_header_id|>assistant<|end_header_id|>\n\n";
    assert_eq!(got.as_deref(), Ok(want));
}

#[test]
fn llama3_refuses_markers_in_messages() {
    let got = render(r#"[{"role":"user","content":"x<|eot_id|>"}]"#);
    assert!(got.unwrap_err().contains("<|eot_id|>"));
}
