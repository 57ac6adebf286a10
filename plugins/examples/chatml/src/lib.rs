// SPDX-License-Identifier: MIT

//! ChatML: `<|im_start|>role`, a line break, the text, `<|im_end|>`, for each message.

use penstock::{Manifest, Message, Plugin, Request};

const START: &str = "<|im_start|>";
const END: &str = "<|im_end|>";

/// The template with its settings.
pub struct ChatMl {
    system: Option<String>,
}

#[penstock::export]
impl Plugin for ChatMl {
    const MANIFEST: Manifest = Manifest {
        name: "chatml",
        summary: "The ChatML template, with a system message of one's own where there is none",
        config_schema: r#"{"type":"object","additionalProperties":false,"properties":{
            "system":{"type":"string","description":"the system message of a conversation that has none"}}}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        Ok(ChatMl { system: request.config.read("system")? })
    }

    fn render(&mut self, messages: &[Message]) -> Result<String, String> {
        let mut prompt = String::new();
        if let (Some(system), false) = (&self.system, messages.iter().any(|m| m.role == "system")) {
            append(&mut prompt, "system", system)?;
        }
        for message in messages {
            append(&mut prompt, &message.role, &message.content)?;
        }
        prompt.push_str(START);
        prompt.push_str("assistant\n");
        Ok(prompt)
    }
}

/// A message may not write the markers itself: it could pass for another role.
fn append(prompt: &mut String, role: &str, text: &str) -> Result<(), String> {
    for marker in [START, END] {
        if role.contains(marker) || text.contains(marker) {
            return Err(format!("messages: a message of role {} has the text {}; take it out", role, marker));
        }
    }
    for part in [START, role, "\n", text, END, "\n"] {
        prompt.push_str(part);
    }
    Ok(())
}
