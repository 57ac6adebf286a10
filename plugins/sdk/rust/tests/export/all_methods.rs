// SPDX-License-Identifier: MIT

// Constants, types, nested functions and comments between methods are no methods.
use penstock as p;

mod inner {
    pub struct Plugged<const N: usize>;
}

/// Documented.
#[penstock::export]
#[allow(clippy::all)]
impl p::Plugin for inner::Plugged<{ 2 + 1 }> {
    const MANIFEST: p::Manifest = p::Manifest { name: "x", ..p::Manifest::DEFAULT };

    fn open(_: &p::Request) -> Result<Self, String> {
        fn sample_row() {}
        sample_row();
        Ok(inner::Plugged)
    }

    /// Documented, too.
    #[inline]
    fn sample(&mut self, _: &mut p::Candidates) -> p::Choice {
        let f: fn(usize) -> p::Choice = p::Choice::Keep;
        f(1)
    }
    fn prepare(&mut self, _: &mut p::Next) {}
    fn accept(&mut self, _: p::Token) -> p::Accepted {
        p::Accepted::Continue
    }
    fn rewind(&mut self, _: usize) -> Result<(), String> {
        Ok(())
    }
    fn stop(&mut self, _: p::Token, _: &str) -> p::Verdict {
        p::Verdict::Show
    }
    fn filter(&mut self, _: &str, _: bool) -> p::Filtered {
        p::Filtered::default()
    }
    fn render(&mut self, _: &[p::Message]) -> Result<String, String> {
        Ok(String::new())
    }
    fn warm(_: &p::Vocabulary) -> Result<p::Table, String> {
        Ok(Box::new(1))
    }
    fn plan(_: &p::json::Value, plan: &mut p::Plan) -> Result<(), String> {
        plan.without = vec![p::Call::Run];
        Ok(())
    }
    fn run(&mut self, _: &p::Run) -> Result<(), String> {
        Ok(())
    }
    fn close(&mut self) {}
}
