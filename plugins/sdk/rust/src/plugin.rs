// SPDX-License-Identifier: MIT

use crate::json::Value;
use crate::{Accepted, Candidates, Choice, Filtered, Manifest, Message, Next, Plan, Request, Row, Run, Table, Token, Verdict, Vocabulary};
use alloc::string::String;
use alloc::vec::Vec;

/// A plugin: one value of the type serves one request.
///
/// Write the methods that the plugin needs; the attribute [`crate::export`] tells the host which
/// these are. A method that is not written is never called and costs nothing.
pub trait Plugin: Sized + 'static {
    /// The description of the plugin.
    const MANIFEST: Manifest;

    /// Begins a request. An error refuses it; the client reads the text, so it should name the
    /// field, its value and the remedy.
    fn open(request: &Request) -> Result<Self, String>;

    /// Sees the best candidates, best first. It edits them, keeps the first of them, or takes a
    /// token.
    fn sample(&mut self, candidates: &mut Candidates) -> Choice {
        let _ = candidates;
        Choice::Edited
    }

    /// Sees the whole row. It edits the logits, or takes a token. It must come before any stage
    /// that truncates, and costs a copy of the row.
    fn sample_row(&mut self, row: &mut Row) -> Choice {
        let _ = row;
        Choice::Edited
    }

    /// Sets the constraints for the next token, while the model computes.
    fn prepare(&mut self, next: &mut Next) {
        let _ = next;
    }

    /// Is told which token was chosen, by any stage. The tokens of the plugin's own splice are
    /// accepted too; these calls may not return another splice.
    fn accept(&mut self, token: Token) -> Accepted {
        let _ = token;
        Accepted::Continue
    }

    /// Is called when tokens were taken back: the history is now `len` tokens long, prompt
    /// included, and [`crate::host::history`] has it. Leave this out unless going back is cheaper
    /// than starting again: a plugin with `accept` or `stop` and without this is started again, and
    /// all tokens and all text are replayed to it, so that its state always matches the answer as
    /// it is now. With it the plugin has to undo all that it has kept about tokens and text.
    fn rewind(&mut self, len: usize) -> Result<(), String> {
        let _ = len;
        Ok(())
    }

    /// Sees new text, in whole characters and each once, and decides when the answer ends. The text
    /// may be empty; a long one is passed in several calls.
    fn stop(&mut self, token: Token, text: &str) -> Verdict {
        let _ = (token, text);
        Verdict::Show
    }

    /// Rewrites the text of the answer before anybody sees it. It gets what it kept back, followed
    /// by new text that is about to be shown, in whole characters. `last`: nothing follows, and
    /// nothing can be kept back. The text is the model's, with tags of reasoning and tool calls,
    /// after stop strings. Of several plugins each gets what the one before it shows. Where text
    /// that was shown is taken back, a plugin without `rewind` is started again, and gets the text
    /// again that is left.
    ///
    /// ```
    /// # use penstock::Filtered;
    /// /// Puts a name in the place of "[1]".
    /// fn filter(text: &str, last: bool) -> Filtered {
    ///     let begun = ["[1", "["].iter().find(|begun| !last && text.ends_with(**begun));
    ///     let keep = begun.map_or(0, |begun| begun.len());
    ///     Filtered { shown: Some(text[..text.len() - keep].replace("[1]", "Ann")), keep }
    /// }
    /// assert_eq!(filter("I am [", false), Filtered { shown: Some("I am ".into()), keep: 1 });
    /// ```
    fn filter(&mut self, text: &str, last: bool) -> Filtered {
        let _ = (text, last);
        Filtered::default()
    }

    /// Returns the messages that the model is to read instead of those it got. It may change, add
    /// and drop messages. The model's own template makes the prompt from them. An error refuses the
    /// request; the client reads it.
    fn rewrite(&mut self, messages: Vec<Message>) -> Result<Vec<Message>, String> {
        Ok(messages)
    }

    /// Drafts up to `most` tokens that are likely to come next. The model computes them
    /// together, and the answer takes those that it would have drawn anyway, so a wrong draft only
    /// changes the speed.
    fn draft(&mut self, most: usize) -> Vec<Token> {
        let _ = most;
        Vec::new()
    }

    /// Turns a conversation into the text of a prompt. An error refuses the request; the client
    /// reads it.
    fn render(&mut self, messages: &[Message]) -> Result<String, String> {
        let _ = messages;
        Err(String::from("the plugin writes no prompts"))
    }

    /// Builds, once for a module and a model, what every request needs; [`crate::table()`] returns
    /// it. An error means that the plugin cannot work with this model.
    fn warm(vocabulary: &Vocabulary) -> Result<Table, String> {
        let _ = vocabulary;
        Err(String::from("the plugin builds no table"))
    }

    /// Says what one configuration needs, once and before any request with it runs: which methods
    /// are called, what they see, how many tokens are held back. What takes long to build from the
    /// configuration, such as a mask over the vocabulary, is built here and kept in `plan.table`.
    /// Of the request it knows nothing but the configuration. An error refuses that; the client
    /// reads the text, so it should name the field, its value and the remedy. A host that has no
    /// plans never calls it. A plugin with it may have `run` beside methods that are called for a
    /// token, if each plan leaves out one or the other.
    ///
    /// ```
    /// # use penstock::{Call, Plan};
    /// # use penstock::json::Value;
    /// fn plan(config: &Value, plan: &mut Plan) -> Result<(), String> {
    ///     let words: Vec<String> = config.read("words")?;
    ///     if words.is_empty() {
    ///         plan.without = vec![Call::Prepare, Call::Accept];
    ///     }
    ///     plan.hold = words.iter().map(|w| w.len() as u32).max().unwrap_or(0).min(plan.hold);
    ///     plan.table = Some(Box::new(words));
    ///     Ok(())
    /// }
    /// ```
    fn plan(config: &Value, plan: &mut Plan) -> Result<(), String> {
        let _ = (config, plan);
        Ok(())
    }

    /// Writes the answer itself, as a program: it opens branches, which are lists of tokens that
    /// the model can continue, waits for the model's rows after them, and shows tokens to the
    /// client. When it returns, the answer is what was shown; an error refuses the request. A
    /// plugin with this has no method that is called for a token or a prompt.
    /// [`Manifest::branches`] says how many branches it has at once.
    ///
    /// ```
    /// # use penstock::Run;
    /// /// Greedy decoding, the least of programs.
    /// fn greedy(run: &Run) -> Result<(), String> {
    ///     let mut branch = run.prompt()?;
    ///     for _ in 0..run.max_tokens() {
    ///         run.wait(1, [&branch])?;
    ///         let (token, _) = branch.best(1)[0];
    ///         if run.ends(token) {
    ///             break;
    ///         }
    ///         run.show(&[token]);
    ///         branch.append(&[token])?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    fn run(&mut self, run: &Run) -> Result<(), String> {
        let _ = run;
        Err(String::from("the plugin is no program"))
    }

    /// The request is over.
    fn close(&mut self) {}
}
