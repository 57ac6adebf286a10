// SPDX-License-Identifier: MIT

//! A native test can open a program, and is told where to run it.

use penstock::testing::{Request, Session};
use penstock::{Manifest, Plugin, Run};

struct Program(usize);

#[penstock::export]
impl Plugin for Program {
    const MANIFEST: Manifest = Manifest {
        name: "program",
        branches: 3,
        branches_config: "n",
        config_schema: r#"{"type":"object","properties":{"n":{"type":"integer","default":2}}}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &penstock::Request) -> Result<Self, String> {
        Ok(Program(request.config.read("n")?))
    }

    fn run(&mut self, _: &Run) -> Result<(), String> {
        Ok(())
    }
}

#[test]
#[should_panic(expected = "write a case with a model, docs/plugins/programs.md")]
fn session_run_says_where_programs_are_tested() {
    let mut session = Session::<Program>::open(Request::new());
    assert_eq!(session.plugin().0, 2);
    session.run();
}

struct Guided;

#[penstock::export]
impl Plugin for Guided {
    const MANIFEST: Manifest = Manifest { name: "guided", ..Manifest::DEFAULT };

    fn open(_: &penstock::Request) -> Result<Self, String> {
        penstock::grammar::Grammar::open(penstock::grammar::Kind::Gbnf, "root ::= \"a\"")?;
        Ok(Guided)
    }
}

#[test]
#[should_panic(expected = "grammar_open is called, and nothing answers it")]
fn session_open_says_where_grammars_are_tested() {
    Session::<Guided>::open(Request::new());
}

#[test]
fn what_nothing_answers_ends_the_test() {
    assert!(!penstock::host::feature("text") && penstock::host::logprob().is_none());
    let ends = |f: fn() -> usize| *std::panic::catch_unwind(f).unwrap_err().downcast::<String>().unwrap();
    let why = ends(penstock::host::vocab_size);
    assert!(why.starts_with("vocab_size is called") && why.contains("open a session"), "{}", why);
    let why = ends(|| Request::new().within(|| unsafe { penstock::abi::branch_fork(0) } as usize));
    assert!(why.starts_with("branch_fork is called") && why.contains("a case for `penstock plugin test`"), "{}", why);
}
