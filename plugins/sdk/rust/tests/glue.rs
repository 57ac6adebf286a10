// SPDX-License-Identifier: MIT

//! The exports' answers and buffers, on a host of today and on one that lacks what came later.

use penstock::glue::Instance;
use penstock::{abi, Accepted, Candidates, Choice, Manifest, Message, Next, Plugin, Row, Run, Token, Verdict};
use std::cell::RefCell;

/// What the host has and got.
#[derive(Default)]
struct Host {
    config: String,
    lacking: Vec<String>,
    history: Vec<Token>,
    bound: [usize; 7], // the addresses of buffers, by their kinds
    emitted: String,
    failed: String,
}

std::thread_local! {
    static HOST: RefCell<Host> = RefCell::default();
}

fn ask<R>(f: impl FnOnce(&mut Host) -> R) -> R {
    HOST.with(|h| f(&mut h.borrow_mut()))
}

unsafe fn text(p: *const u8, n: i32) -> String {
    String::from_utf8(core::slice::from_raw_parts(p, n as usize).to_vec()).unwrap()
}

unsafe fn give<T>(items: &[T], p: *mut u8, n: i32) -> i32 {
    if items.len() <= n as usize {
        core::ptr::copy_nonoverlapping(items.as_ptr() as *const u8, p, core::mem::size_of_val(items));
    }
    items.len() as i32
}

const TABLE: abi::Host = abi::Host {
    config: |p, n| ask(|h| unsafe { give(h.config.as_bytes(), p, n) }),
    messages: |p, n| unsafe { give(br#"[{"role":"user","content":"hi"}]"#, p, n) },
    feature: |p, n| ask(|h| !h.lacking.contains(&unsafe { text(p, n) }) as i32),
    history: |from, p, n| ask(|h| unsafe { give(&h.history[from as usize..], p, n) }),
    param: |_| 0,
    vocab_size: || 40,
    bind: |kind, p, _| ask(|h| (abi::BIND_OK, h.bound[kind as usize] = p as usize).0),
    emit: |p, n| ask(|h| h.emitted = unsafe { text(p, n) }),
    fail: |p, n| ask(|h| h.failed = unsafe { text(p, n) }),
    ..abi::ABSENT
};

/// Opens a plugin on a host that lacks some features. It never fills in the config's defaults.
fn open<P: penstock::glue::Exported>(config: &str, lacking: &[&str]) -> Instance<P> {
    abi::install(TABLE);
    let lacking = lacking.iter().chain(&["config_defaults"]).map(|f| f.to_string()).collect();
    ask(|h| *h = Host { config: config.to_string(), lacking, ..Host::default() });
    let mut instance = Instance::new();
    assert_eq!(instance.open(), 0, "{}", ask(|h| h.failed.clone()));
    instance
}

/// The first words of a buffer, which is large enough and belongs to an instance that lives.
fn buffer(kind: i32, words: usize) -> &'static mut [u32] {
    unsafe { core::slice::from_raw_parts_mut(ask(|h| h.bound[kind as usize]) as *mut u32, words) }
}

/// Answers what its config says.
struct Told {
    choice: Choice,
    force: Vec<Token>,
}

#[penstock::export]
impl Plugin for Told {
    const MANIFEST: Manifest = Manifest {
        name: "told",
        candidates: 4,
        biases: 2,
        splice: 3,
        config_schema: r#"{"properties":{"keep":{"default":2},"force":{"default":[1,0,1]},"choice":{"default":"keep"}}}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &penstock::Request) -> Result<Self, String> {
        let choice: String = request.config.read("choice")?;
        let keep = request.config.read("keep")?;
        let choice = [Choice::Keep(keep), Choice::Biased, Choice::Edited, Choice::Take(7)][match &choice[..] {
            "keep" => 0,
            "bias" => 1,
            "edit" => 2,
            "take" => 3,
            other => return Err(format!("config.choice: {} is none", other)),
        }];
        Ok(Told { choice, force: request.config.read("force")? })
    }

    fn sample(&mut self, candidates: &mut Candidates) -> Choice {
        assert!(candidates.bias(9, 1.5) && candidates.bias(3, -0.5) && !candidates.bias(1, 1.0));
        if self.choice == Choice::Edited {
            candidates.ban(0);
        }
        self.choice
    }

    fn prepare(&mut self, next: &mut Next) {
        next.mask().allow(33);
        assert!(next.bias(0, -1.5));
        next.force(&self.force);
    }

    fn accept(&mut self, token: Token) -> Accepted {
        match token {
            3 => Accepted::Splice { backtrack: 2, tokens: vec![1, 1, 1] },
            2 => Accepted::Stop,
            _ => Accepted::Continue,
        }
    }

    fn draft(&mut self, most: usize) -> Vec<Token> {
        vec![5; most + 1]
    }

    fn rewind(&mut self, len: usize) -> Result<(), String> {
        Err(format!("{} is too few", len))
    }

    fn stop(&mut self, _: Token, text: &str) -> Verdict {
        match text {
            "show" => Verdict::Show,
            "hold" => Verdict::Hold,
            "end" => Verdict::End,
            "hide" => Verdict::Hide,
            _ => Verdict::EndAfter(text.len()),
        }
    }

    fn render(&mut self, messages: &[Message]) -> Result<String, String> {
        Ok(messages[0].content.clone())
    }

    fn rewrite(&mut self, mut messages: Vec<Message>) -> Result<Vec<Message>, String> {
        messages[0].content.push('!');
        Ok(messages)
    }
}

/// The answer to three candidates, and what their logits are then.
fn sampled(config: &str, lacking: &[&str]) -> (i32, Vec<f32>) {
    let mut told = open::<Told>(config, lacking);
    let candidates = buffer(abi::BUFFER_CANDIDATES, 8); // 4 ids, 4 logits
    candidates[..3].copy_from_slice(&[2, 0, 3]);
    candidates[4..7].copy_from_slice(&[3.0, 2.0, 1.0].map(f32::to_bits));
    let answer = told.sample(3);
    (answer, buffer(abi::BUFFER_CANDIDATES, 7)[4..].iter().map(|x| f32::from_bits(*x)).collect())
}

#[test]
fn sample_keeps_and_biases_also_on_an_older_host() {
    const NONE: f32 = f32::NEG_INFINITY;
    for (config, lacking, answer, logits) in [
        ("{}", vec![], abi::SAMPLE_EDITED - 2, [3.0, 2.0, 1.0]),
        ("{}", vec!["sample_keep"], abi::SAMPLE_EDITED, [3.0, 2.0, NONE]),
        (r#"{"keep":0}"#, vec![], abi::SAMPLE_EDITED - 1, [3.0, 2.0, 1.0]),
        (r#"{"choice":"bias"}"#, vec![], abi::SAMPLE_BIASED, [3.0, 2.0, 1.0]),
        (r#"{"choice":"bias"}"#, vec!["sample_bias"], abi::SAMPLE_EDITED, [3.0, 2.0, 0.5]),
        (r#"{"choice":"edit"}"#, vec![], abi::SAMPLE_EDITED, [NONE, 2.0, 1.0]),
        (r#"{"choice":"take"}"#, vec![], 7, [3.0, 2.0, 1.0]),
    ] {
        assert_eq!(sampled(config, &lacking), (answer, logits.to_vec()), "{} without {:?}", config, lacking);
    }
}

/// What prepare forces, as the splice buffer has it.
fn forced(told: &mut Instance<Told>) -> Vec<u32> {
    assert_ne!(told.prepare() & abi::PREPARE_FORCE, 0);
    let splice = buffer(abi::BUFFER_SPLICE, 5);
    splice[2..2 + splice[1] as usize].to_vec()
}

#[test]
fn prepare_forces_one_after_another_on_an_older_host() {
    let mut told = open::<Told>("{}", &[]);
    assert_eq!(told.prepare(), abi::PREPARE_MASK | abi::PREPARE_BIAS | abi::PREPARE_FORCE);
    assert_eq!(buffer(abi::BUFFER_MASK, 2), [0, 2]);
    assert_eq!(buffer(abi::BUFFER_BIAS, 3), [1, 0, (-1.5f32).to_bits()]);
    assert_eq!(buffer(abi::BUFFER_SPLICE, 5), [0, 3, 1, 0, 1]);

    let mut told = open::<Told>("{}", &["prepare_force_many"]);
    for token in [1, 0, 1] {
        assert_eq!(forced(&mut told), [token]);
        ask(|h| h.history.push(token));
    }
    assert_eq!(forced(&mut told), [1], "a new run");
    ask(|h| h.history.push(4));
    assert_eq!(forced(&mut told), [1], "what else came ends the run");
    assert_eq!(told.prepare(), abi::PREPARE_MASK | abi::PREPARE_BIAS | abi::PREPARE_FORCE);
}

#[test]
fn accept_draft_and_rewind_answer_in_the_abis_terms() {
    let mut told = open::<Told>("{}", &[]);
    assert_eq!([1, 2, 3].map(|token| told.accept(token)), [abi::ACCEPT_CONTINUE, abi::ACCEPT_STOP, abi::ACCEPT_SPLICE]);
    assert_eq!(buffer(abi::BUFFER_SPLICE, 5), [2, 3, 1, 1, 1]);
    assert_eq!((told.draft(2), &buffer(abi::BUFFER_SPLICE, 4)[1..]), (2, &[2, 5, 5][..]));
    assert_eq!((told.rewind(4), ask(|h| h.failed.clone())), (1, "4 is too few".to_string()));
}

#[test]
fn stop_reads_the_text_and_answers_in_the_abis_terms() {
    let mut told = open::<Told>("{}", &[]);
    for (text, answer) in
        [("show", abi::STOP_SHOW), ("hold", abi::STOP_HOLD), ("end", abi::STOP_END), ("hide", abi::STOP_HIDE), ("é", -3), ("", -1)]
    {
        let bytes = buffer(abi::BUFFER_TEXT, 1)[0].to_ne_bytes();
        let word: Vec<u8> = text.bytes().chain(bytes).take(4).collect();
        buffer(abi::BUFFER_TEXT, 1)[0] = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
        assert_eq!(told.stop(0, text.len() as i32), answer, "{}", text);
    }
}

#[test]
fn prompts_and_reasons_are_given_as_text() {
    let mut told = open::<Told>("{}", &[]);
    assert_eq!((told.render(), ask(|h| h.emitted.clone())), (0, "hi".to_string()));
    assert_eq!((told.rewrite(), ask(|h| h.emitted.clone())), (0, r#"[{"role":"user","content":"hi!"}]"#.to_string()));
    ask(|h| h.config = r#"{"choice":"none"}"#.to_string());
    assert_eq!((Instance::<Told>::new().open(), ask(|h| h.failed.clone())), (1, "config.choice: none is none".to_string()));
}

/// Sees the whole row, or writes the answer.
struct Rower;

#[penstock::export]
impl Plugin for Rower {
    const MANIFEST: Manifest = Manifest { name: "rower", ..Manifest::DEFAULT };

    fn open(_: &penstock::Request) -> Result<Self, String> {
        Ok(Rower)
    }

    fn sample_row(&mut self, row: &mut Row) -> Choice {
        row.ban(39);
        Choice::Edited
    }
}

struct Runner;

#[penstock::export]
impl Plugin for Runner {
    const MANIFEST: Manifest = Manifest { name: "runner", ..Manifest::DEFAULT };

    fn open(_: &penstock::Request) -> Result<Self, String> {
        Ok(Runner)
    }

    fn run(&mut self, _: &Run) -> Result<(), String> {
        Err("enough".to_string())
    }
}

#[test]
fn sample_row_edits_the_hosts_buffer() {
    let mut rower = open::<Rower>("{}", &[]);
    assert_eq!((rower.sample_row(40), buffer(abi::BUFFER_LOGITS, 40)[39]), (abi::SAMPLE_EDITED, f32::NEG_INFINITY.to_bits()));
}

#[test]
fn run_needs_a_host_with_programs() {
    assert_eq!((open::<Runner>("{}", &[]).run(), ask(|h| h.failed.clone())), (1, "enough".to_string()));
    assert_eq!(open::<Runner>("{}", &["branches"]).run(), 1);
    assert!(ask(|h| h.failed.contains("newer one")));
}

#[test]
#[should_panic(expected = "this host calls all that a module exports")]
fn describe_needs_a_host_that_reads_what_the_plugin_implements() {
    open::<Rower>("{}", &["implements"]).describe();
}
