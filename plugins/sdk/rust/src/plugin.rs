// SPDX-License-Identifier: MIT

use crate::{Accepted, Candidates, Choice, Manifest, Message, Next, Request, Row, Run, Table, Token, Verdict, Vocabulary};
use alloc::string::String;
use alloc::vec::Vec;

/// A plugin: one value of the type serves one request.
///
/// Write those methods that the plugin needs, and the attribute [`crate::export`] exports them; a
/// method that is not written is never called, and costs nothing.
pub trait Plugin: Sized + 'static {
    /// What the plugin says about itself.
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

    /// Sees the whole row. It edits the logits, or takes a token. It must stand before any stage
    /// that truncates, and costs a copy of the row.
    fn sample_row(&mut self, row: &mut Row) -> Choice {
        let _ = row;
        Choice::Edited
    }

    /// Says what may come next, while the model computes.
    fn prepare(&mut self, next: &mut Next) {
        let _ = next;
    }

    /// Learns which token was chosen, by whomever. The tokens of the plugin's own splice are
    /// accepted too; another splice is no answer to those.
    fn accept(&mut self, token: Token) -> Accepted {
        let _ = token;
        Accepted::Continue
    }

    /// Learns that tokens were taken back: the history is now `len` tokens long, prompt included,
    /// and [`crate::host::history`] has it. Leave this out unless going back is cheaper than
    /// beginning anew: a plugin with `accept` or `stop` and without this is begun anew, told all
    /// tokens and shown all text again, so that what it keeps is always that of the answer as it
    /// stands. With it the plugin has to undo all that it has kept, of tokens and of text.
    fn rewind(&mut self, len: usize) -> Result<(), String> {
        let _ = len;
        Ok(())
    }

    /// Sees new text, in whole characters and each once, and decides when the answer ends. The
    /// text may be empty; a long one comes in several calls.
    fn stop(&mut self, token: Token, text: &str) -> Verdict {
        let _ = (token, text);
        Verdict::Show
    }

    /// Gives the messages that the model is to read instead: those it was given, changed, with
    /// others between or without some. The model's own template makes the prompt of them. An error
    /// refuses the request; the client reads it.
    fn rewrite(&mut self, messages: Vec<Message>) -> Result<Vec<Message>, String> {
        Ok(messages)
    }

    /// Guesses at most so many tokens that are likely to come next; none is a guess, too. The
    /// model computes them together, and the answer takes those that it would have had anyway, so
    /// a wrong guess changes nothing but the speed.
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

    /// Builds, once for a module and a model, what every request needs; [`crate::table()`] gives
    /// it back. An error means that the plugin cannot work with this model.
    fn warm(vocabulary: &Vocabulary) -> Result<Table, String> {
        let _ = vocabulary;
        Err(String::from("the plugin builds no table"))
    }

    /// Writes the answer itself, as a program: it opens branches, lists of tokens that the model
    /// may go on from, waits for what the model says after them, and shows the client tokens. What
    /// was shown is the answer when it returns; an error refuses the request. A plugin with this
    /// has no method that is called for a token or a prompt. [`Manifest::branches`] says how many
    /// branches it has at once.
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
