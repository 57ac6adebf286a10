// SPDX-License-Identifier: MIT

use crate::json::Value;
use crate::{abi, Token};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Represents each row of a picture or a sound in the history and in branches. It is in no
/// vocabulary, has no text and cannot be generated.
pub const MEDIA_TOKEN: Token = abi::TOKEN_MEDIA as Token;

/// A picture or a sound. A plugin does not get its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Media {
    /// image or audio.
    pub kind: String,
    /// Its marker in the texts of a conversation; empty outside of `rewrite` and `render`.
    pub marker: String,
    /// SHA-256 of the file, in hexadecimal digits.
    pub hash: String,
    /// Pixels of an image.
    pub width: usize,
    /// Pixels of an image.
    pub height: usize,
    /// Of a sound.
    pub seconds: f64,
    /// Of the file.
    pub bytes: usize,
    /// How many tokens of the prompt it takes, with those that the model expects around it.
    pub tokens: usize,
    /// Index in the history of the first of these; none in `rewrite` and `render`.
    pub at: Option<usize>,
}

impl Media {
    /// The pictures and sounds among the parts of a list.
    pub(crate) fn list(parts: &Value) -> Vec<Media> {
        parts.items().unwrap_or_default().iter().filter_map(Media::read).collect()
    }

    fn read(part: &Value) -> Option<Media> {
        let text = |name| part.get(name).and_then(Value::text).unwrap_or_default().to_string();
        let number = |name| part.get(name).and_then(Value::integer).map(|n| n.max(0) as usize);
        let kind = text("type");
        (kind == "image" || kind == "audio").then(|| Media {
            marker: text("text"),
            hash: text("hash"),
            width: number("width").unwrap_or_default(),
            height: number("height").unwrap_or_default(),
            seconds: part.get("seconds").and_then(Value::number).unwrap_or_default(),
            bytes: number("bytes").unwrap_or_default(),
            tokens: number("tokens").unwrap_or_default(),
            at: number("at"),
            kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::Message;

    #[test]
    fn media_of_a_message_are_its_parts() {
        let value = json::parse(
            r#"[{"role":"user","content":[{"type":"text","text":"See "},
                {"type":"image","text":"<m0>","hash":"ab","width":3,"height":2,"bytes":9,"tokens":5},
                {"type":"audio","text":"<m1>","hash":"cd","seconds":1.5,"bytes":80,"tokens":7,"at":4}]},{"role":"assistant","content":"I see."}]"#,
        )
        .unwrap();
        let list = Message::list(&value).unwrap();
        assert_eq!((list[0].content.as_str(), list[1].media().len()), ("See <m0><m1>", 0));
        let text = |s: &str| s.to_string();
        let picture = Media { kind: text("image"), marker: text("<m0>"), hash: text("ab"), width: 3, height: 2, bytes: 9, tokens: 5, ..Media::default() };
        let sound = Media { kind: text("audio"), marker: text("<m1>"), hash: text("cd"), seconds: 1.5, bytes: 80, tokens: 7, at: Some(4), ..Media::default() };
        assert_eq!(list[0].media(), [picture, sound]);
        assert_eq!(MEDIA_TOKEN, u32::MAX);
    }
}
