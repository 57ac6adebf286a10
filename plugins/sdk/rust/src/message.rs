// SPDX-License-Identifier: MIT

use crate::json::Value;
use crate::Media;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// One message of a conversation.
#[derive(Clone, Debug)]
pub struct Message {
    /// system, developer, user, assistant or tool.
    pub role: String,
    /// Its text.
    pub content: String,
    /// The whole message, for its other members (name, tool_calls, tool_call_id).
    pub value: Value,
}

impl Message {
    /// Reads the host's list of messages. An error says what is wrong with it.
    pub fn list(value: &Value) -> Result<Vec<Message>, String> {
        let list = value.items().ok_or("messages must be a list")?;
        list.iter().map(Message::read).collect()
    }

    /// The pictures and sounds of the message, in their order, as the plugin got it. `content`
    /// contains their markers: if a marker is removed, the model does not see that picture.
    pub fn media(&self) -> Vec<Media> {
        self.value.get("content").map(Media::list).unwrap_or_default()
    }

    /// The message as JSON: role and content as they are now, and the other members unchanged.
    pub(crate) fn into_value(self) -> Value {
        let mut members = alloc::vec![("role".to_string(), Value::String(self.role)), ("content".to_string(), Value::String(self.content))];
        if let Some(all) = self.value.members() {
            members.extend(all.iter().filter(|(name, _)| name != "role" && name != "content").cloned());
        }
        Value::Object(members)
    }

    fn read(value: &Value) -> Result<Message, String> {
        let role = value.get("role").and_then(Value::text).ok_or("a message needs a role")?;
        let content = match value.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => parts.iter().filter_map(|p| p.get("text").and_then(Value::text)).collect(),
            _ => String::new(),
        };
        Ok(Message { role: role.to_string(), content, value: value.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn message_list_reads_texts_and_parts() {
        let value = json::parse(
            r#"[{"role":"user","content":"hi","name":"x"},{"role":"tool","content":[{"type":"text","text":"a"},{"text":"b"}]},
                {"role":"assistant","content":null}]"#,
        )
        .unwrap();
        let list = Message::list(&value).unwrap();
        let got: Vec<_> = list.iter().map(|m| (m.role.as_str(), m.content.as_str())).collect();
        assert_eq!(got, [("user", "hi"), ("tool", "ab"), ("assistant", "")]);
        assert_eq!(list[0].value.get("name").and_then(Value::text), Some("x"));
        for wrong in ["{}", "[1]", r#"[{"content":"a"}]"#] {
            assert!(Message::list(&json::parse(wrong).unwrap()).is_err(), "{}", wrong);
        }
    }
}
