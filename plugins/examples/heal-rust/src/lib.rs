// SPDX-License-Identifier: MIT

//! A plugin that owns its request: it goes on after a prompt that ends inside a word as if it did
//! not.

use penstock::{table, Chain, Manifest, Plugin, Request, Run, Table, Token, Vocabulary, MEDIA_TOKEN};

/// The plugin in one request.
pub struct Heal {
    most: usize, // tokens that are taken back
}

#[penstock::export]
impl Plugin for Heal {
    const MANIFEST: Manifest = Manifest {
        name: "heal-rust",
        summary: "token healing: a prompt may end inside a word, or a token",
        branches: 1,
        config_schema: r#"{"type": "object", "additionalProperties": false, "properties": {
            "tokens": {"type": "integer", "minimum": 1, "maximum": 32, "default": 8, "description": "how many tokens of the prompt are taken back at most"}
        }}"#,
        ..Manifest::DEFAULT
    };

    fn warm(vocabulary: &Vocabulary) -> Result<Table, String> {
        Ok(Box::new(vocabulary.clone()))
    }

    fn open(request: &Request) -> Result<Self, String> {
        Ok(Heal { most: request.config.read("tokens")? })
    }

    /// Takes the last word back, and has the model write it again: each token must fit what is
    /// left of it.
    fn run(&mut self, run: &Run) -> Result<(), String> {
        let (words, mut branch, mut left): (&Vocabulary, _, _) = (table(), run.prompt()?, Vec::new());
        let tokens = branch.tokens(0);
        for pair in tokens.windows(2).rev().take(self.most) {
            let (before, token) = (pair[0], pair[1]); // nothing is said after a picture, so that a token stays there
            if before == MEDIA_TOKEN || words.piece(token).is_empty() || left.first().map_or(false, |b| b" \n\t".contains(b)) {
                break;
            }
            left.splice(..0, words.piece(token).iter().copied());
            branch.cut(branch.len() - 1);
        }
        let mut shown = 0;
        while shown < run.max_tokens() {
            run.wait(0, [&branch])?;
            if !left.is_empty() {
                let fits =
                    |t: &Token| !words.piece(*t).is_empty() && (words.piece(*t).starts_with(&left) || left.starts_with(words.piece(*t)));
                branch.mask(|mask| (0..words.len() as Token).filter(fits).for_each(|t| mask.allow(t)));
            }
            let token = branch.sample(&Chain::REQUEST)?;
            if run.ends(token) {
                break;
            }
            branch.append(&[token])?;
            let mut show = vec![token];
            if !left.is_empty() {
                let both = words.piece(token).len().min(left.len());
                show = words.spell(&words.piece(token)[both..]);
                left.drain(..both);
            }
            run.show(&show);
            shown += show.len();
        }
        Ok(())
    }
}
