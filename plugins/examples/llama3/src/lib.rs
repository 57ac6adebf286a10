// SPDX-License-Identifier: MIT

//! The template of Llama 3: each message is a header with the role, an empty line, the trimmed
//! text and `<|eot_id|>`.

use penstock::{Manifest, Message, Plugin, Request};

const BEGIN: &str = "<|begin_of_text|>";
const HEADER: &str = "<|start_header_id|>";
const HEADER_END: &str = "<|end_header_id|>";
const END: &str = "<|eot_id|>";

/// The template; it has no settings.
pub struct Llama3;

#[penstock::export]
impl Plugin for Llama3 {
    const MANIFEST: Manifest = Manifest {
        name: "llama3",
        summary: "The template of Llama 3 and 3.1",
        config_schema: r#"{"type":"object","additionalProperties":false}"#,
        ..Manifest::DEFAULT
    };

    fn open(_: &Request) -> Result<Self, String> {
        Ok(Llama3)
    }

    fn render(&mut self, messages: &[Message]) -> Result<String, String> {
        let mut prompt = String::from(BEGIN);
        for message in messages {
            let text = message.content.trim();
            if let Some(marker) = [BEGIN, HEADER, HEADER_END, END].iter().find(|m| text.contains(**m) || message.role.contains(**m)) {
                return Err(format!("messages: a message of role {} has the text {}; take it out", message.role, marker));
            }
            // Llama 3 calls the results of tools ipython.
            let role = if message.role == "tool" { "ipython" } else { &message.role };
            for part in [HEADER, role, HEADER_END, "\n\n", text, END] {
                prompt.push_str(part);
            }
        }
        for part in [HEADER, "assistant", HEADER_END, "\n\n"] {
            prompt.push_str(part);
        }
        Ok(prompt)
    }
}
