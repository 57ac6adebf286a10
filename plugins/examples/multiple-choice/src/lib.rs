// SPDX-License-Identifier: MIT

//! The answer is one of the texts given, and then ends.

use penstock::{host, table, Accepted, Manifest, Next, Plugin, Request, Table, Token, Vocabulary};

/// Where the answer stands.
pub struct MultipleChoice {
    choices: Vec<Text>,
    written: Vec<u8>,
    prompt: usize,
}

#[penstock::export]
impl Plugin for MultipleChoice {
    const MANIFEST: Manifest = Manifest {
        name: "multiple-choice",
        summary: "Answers with one of the given texts",
        config_schema: r#"{"type":"object","additionalProperties":false,"required":["choices"],"properties":{
            "choices":{"type":"array","description":"texts of which one is the answer","minItems":1,"maxItems":1000,"items":{"type":"string","minLength":1,"maxLength":1000}}}}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        let words: &Words = table();
        let list: Vec<String> = request.config.read("choices")?;
        let choices: Vec<Text> = list.iter().map(|t| words.spell(t.as_bytes())).collect();
        if let Some(index) = choices.iter().position(|c| !c.ends[0]) {
            return Err(format!("config.choices[{}]: the model has no tokens that spell it", index));
        }
        Ok(MultipleChoice { choices, written: Vec::new(), prompt: request.prompt_tokens })
    }

    fn warm(vocabulary: &Vocabulary) -> Result<Table, String> {
        let all = 0..vocabulary.len() as Token;
        let mut sorted: Vec<Token> = all.clone().filter(|t| vocabulary.is_text(*t)).collect();
        sorted.sort_by(|a, b| vocabulary.piece(*a).cmp(vocabulary.piece(*b)));
        let ends = all.filter(|t| vocabulary.ends(*t)).collect();
        Ok(Box::new(Words { vocabulary: vocabulary.clone(), sorted, ends }))
    }

    fn prepare(&mut self, next: &mut Next) {
        let words: &Words = table();
        let mut mask = next.mask();
        mask.ban_all();
        let at = self.written.len();
        for choice in self.left() {
            words.prefixes(&choice.bytes[at..], |token, n| {
                if choice.ends[at + n] {
                    mask.allow(token);
                }
            });
        }
        // The end, where a choice is complete; and where a person put in what is none.
        if self.complete() || self.left().any(|c| c.bytes.len() == at) {
            words.ends.iter().for_each(|t| mask.allow(*t));
        }
    }

    fn accept(&mut self, token: Token) -> Accepted {
        self.take(token);
        if self.complete() {
            return Accepted::Stop;
        }
        Accepted::Continue
    }

    fn rewind(&mut self, _: usize) -> Result<(), String> {
        self.written.clear();
        for token in host::history_from(self.prompt as i32) {
            self.take(token);
        }
        Ok(())
    }
}

impl MultipleChoice {
    /// The choices that fit so far.
    fn left(&self) -> impl Iterator<Item = &Text> {
        self.choices.iter().filter(move |c| c.bytes.starts_with(&self.written))
    }

    /// Whether nothing but the end can follow.
    fn complete(&self) -> bool {
        self.left().all(|c| c.bytes.len() == self.written.len())
    }

    fn take(&mut self, token: Token) {
        let words: &Words = table();
        self.written.extend_from_slice(words.vocabulary.piece(token));
    }
}

/// The vocabulary, and its tokens that are text by their bytes.
pub struct Words {
    vocabulary: Vocabulary,
    sorted: Vec<Token>,
    ends: Vec<Token>,
}

impl Words {
    /// Calls `found` with each token that `text` begins with, and its length.
    fn prefixes(&self, text: &[u8], mut found: impl FnMut(Token, usize)) {
        for n in 1..=text.len().min(64) {
            let from = self.sorted.partition_point(|t| self.vocabulary.piece(*t) < &text[..n]);
            let same = self.sorted[from..].iter().take_while(|t| self.vocabulary.piece(**t) == &text[..n]);
            same.for_each(|t| found(*t, n));
        }
    }

    fn spell(&self, bytes: &[u8]) -> Text {
        let mut ends = vec![false; bytes.len() + 1];
        ends[bytes.len()] = true;
        for at in (0..bytes.len()).rev() {
            let mut found = false;
            self.prefixes(&bytes[at..], |_, n| found |= ends[at + n]);
            ends[at] = found;
        }
        Text { bytes: bytes.to_vec(), ends }
    }
}

/// A choice.
struct Text {
    bytes: Vec<u8>,
    ends: Vec<bool>, // whether tokens can write bytes[i..]
}
