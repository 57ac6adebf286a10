// SPDX-License-Identifier: MIT

//! What the methods of a program ask of the host, and how they read its answers. What the host
//! does is tried with beam-rust's module.

use penstock::glue::Instance;
use penstock::{abi, BranchError, Chain, Manifest, Plugin, Run, State, Token};
use std::cell::{Cell, RefCell};

type Deed = fn(&Run) -> Result<(), String>;

std::thread_local! {
    static DEED: Cell<Deed> = const { Cell::new(|_| Ok(())) };
    static ASKED: RefCell<Vec<String>> = RefCell::default();
    static OPENED: Cell<i32> = const { Cell::new(0) };
    static FAILED: RefCell<String> = RefCell::default();
}

struct Doer;

#[penstock::export]
impl Plugin for Doer {
    const MANIFEST: Manifest = Manifest { name: "doer", branches: 3, ..Manifest::DEFAULT };

    fn open(_: &penstock::Request) -> Result<Self, String> {
        Ok(Doer)
    }

    fn run(&mut self, run: &Run) -> Result<(), String> {
        DEED.with(Cell::get)(run)
    }
}

fn noted(call: String, answer: i32) -> i32 {
    ASKED.with(|a| a.borrow_mut().push(call));
    answer
}

/// Handles count up from 1; a fourth branch is one too many.
fn opened(call: String) -> i32 {
    let n = OPENED.with(|o| o.replace(o.get() + 1) + 1);
    noted(call, if n > 3 { abi::BRANCH_NONE_FREE } else { n })
}

fn numbers<T: Copy>(p: *const u8, n: i32) -> Vec<T> {
    unsafe { core::slice::from_raw_parts(p as *const T, n as usize).to_vec() }
}

fn text(p: *const u8, n: i32) -> String {
    String::from_utf8(numbers(p, n)).unwrap()
}

fn give<T>(items: &[T], p: *mut u8, n: i32) -> i32 {
    if items.len() <= n as usize {
        unsafe { core::ptr::copy_nonoverlapping(items.as_ptr() as *const u8, p, core::mem::size_of_val(items)) };
    }
    items.len() as i32
}

const TABLE: abi::Host = abi::Host {
    config: |p, n| give(b"{}", p, n),
    feature: |_, _| 1,
    fail: |p, n| FAILED.with(|f| *f.borrow_mut() = text(p, n)),
    vocab_size: || 40,
    token_attr: |t| if t == 9 { abi::ATTR_END } else { 0 },
    param: |kind| match kind {
        abi::PARAM_CONTEXT_SIZE => 16,
        abi::PARAM_MAX_TOKENS => 8,
        abi::PARAM_PROMPT_TOKENS => 10,
        abi::PARAM_CHOICES => 2,
        _ => 0,
    },
    branch_open: |p, n| opened(format!("open{:?}", numbers::<Token>(p, n))),
    branch_open_messages: |p, n| match &text(p, n)[..] {
        "{}" => abi::BRANCH_REFUSED,
        messages => opened(format!("messages {}", messages)),
    },
    branch_fork: |b| opened(format!("fork {}", b)),
    branch_close: |b| noted(format!("close {}", b), 0),
    branch_cut: |b, n| noted(format!("cut {} {}", b, n), 0),
    branch_append: |b, p, n, flags| match n {
        0 => abi::BRANCH_BUDGET,
        1 => abi::BRANCH_CONTEXT_FULL,
        _ => noted(format!("append {} {:?} {}", b, numbers::<Token>(p, n), flags), n),
    },
    branch_tokens: |_, from, p, n| give(&[5, 6, 7][from as usize..], p, n),
    branches_wait: |p, n, k, flags| {
        let handles = numbers::<i32>(p, n);
        if flags & abi::WAIT_ANY != 0 {
            give(&handles.iter().rev().copied().collect::<Vec<i32>>(), p, n);
        }
        noted(format!("wait {:?} {} {}", handles, k, flags), if flags & abi::WAIT_ANY != 0 { n - 1 } else { n })
    },
    branch_candidates: |_, k, p| {
        // Two are possible. The logarithm of the sum is 1, the entropy 0.5.
        let (ids, logits): ([u32; 2], [f32; 2]) = ([7, 3], [0.75, -0.5]);
        let k = k as usize;
        let mut said = vec![0; 2 + 2 * k];
        said[..2].copy_from_slice(&[1.0f32.to_bits(), 0.5f32.to_bits()]);
        for i in 0..k.min(2) {
            said[2 + i] = ids[i];
            said[2 + k + i] = logits[i].to_bits();
        }
        give(&said, p, said.len() as i32);
        k.min(2) as i32
    },
    branch_logits: |_, p, n| give(&[0.5f32; 40], p, n),
    branch_hidden_state: |_, p, n| give(&[3.0f32, 4.0], p, n),
    branch_scores: |_, from, p, n| give(&[f32::NAN, -1.0, -2.0][from as usize..], p, n),
    branch_mask: |b, p, n| noted(format!("mask {} {:?}", b, numbers::<u32>(p, n)), 0),
    branch_mix: |b, p, n| {
        noted(format!("mix {} {:?}", b, numbers::<[u32; 2]>(p, n).iter().map(|e| (e[0], f32::from_bits(e[1]))).collect::<Vec<_>>()), 0)
    },
    branch_grammar: |b, grammar| noted(format!("grammar {} {}", b, grammar), 0),
    chain_open: |p, n| match &text(p, n)[..] {
        "{}" => 4,
        _ => abi::BRANCH_REFUSED,
    },
    branch_sample: |_, chain| if chain == 0 { 7 } else { abi::BRANCH_NO_TOKEN },
    branch_run: |b, chain, n, flags| noted(format!("run {} {} {} {}", b, chain, n, flags), 0),
    branch_state: |b| [abi::STATE_PENDING, abi::STATE_RUNNING, abi::STATE_ENDED, abi::STATE_STUCK][b as usize],
    branch_reason: |p, n| give(b"temperature is below 0", p, n),
    show: |choice, p, logs, n| {
        let logs = if logs.is_null() { vec![] } else { numbers::<f32>(logs, n) };
        noted(format!("show {} {:?} {:?}", choice, numbers::<Token>(p, n), logs), (choice == 1) as i32)
    },
    adopt: |choice, b, from| noted(format!("adopt {} {} {}", choice, b, from), 0),
    ..abi::ABSENT
};

/// What a program asks, or the reason for which it ends the request.
fn asked(deed: Deed) -> Result<Vec<String>, String> {
    abi::install(TABLE);
    DEED.with(|d| d.set(deed));
    OPENED.with(|o| o.set(0));
    ASKED.with(|a| a.borrow_mut().clear());
    let mut doer = Instance::<Doer>::new();
    assert_eq!(doer.open(), 0);
    match doer.run() {
        0 => Ok(ASKED.with(|a| a.borrow().clone())),
        _ => Err(FAILED.with(|f| f.borrow().clone())),
    }
}

#[test]
fn branches_are_opened_changed_and_closed() {
    let got = asked(|run| {
        let mut a = run.prompt()?;
        let b = run.open(&[4, 5])?;
        drop(b);
        let c = a.fork()?;
        assert_eq!(a.fork().unwrap_err(), BranchError::NoneFree);
        a.append(&[1, 2])?;
        a.append_scored(&[3, 4])?;
        a.cut(2);
        assert_eq!((a.append(&[]), a.append(&[1])), (Err(BranchError::Budget), Err(BranchError::ContextFull)));
        assert_eq!((a.len(), a.tokens(1), c.tokens(3)), (3, vec![6, 7], vec![]));
        Ok(())
    });
    let want =
        ["open[]", "open[4, 5]", "close 2", "fork 1", "fork 1", "append 1 [1, 2] 0", "append 1 [3, 4] 1", "cut 1 2", "close 3", "close 1"];
    assert_eq!(got.unwrap(), want);
}

#[test]
fn select_drops_what_is_not_named_before_it_forks() {
    let got = asked(|run| {
        let branches = vec![run.open(&[1])?, run.open(&[2])?];
        run.select(branches, &[1, 1]).map(drop).map_err(String::from)
    });
    assert_eq!(got.unwrap(), ["open[1]", "open[2]", "close 1", "fork 2", "close 3", "close 2"]);
}

#[test]
fn rows_are_read() {
    let got = asked(|run| {
        let (a, b) = (run.prompt()?, run.prompt()?);
        run.wait(3, [&a, &b])?;
        assert_eq!(run.wait_any(0, [&a, &b])?, [1], "the host put the second first");
        assert_eq!((a.best(3), a.best(1)), (vec![(7, -0.25), (3, -1.5)], vec![(7, -0.25)]));
        assert_eq!((a.log_sum(), a.entropy(), a.logits()), (1.0, 0.5, vec![0.5; 40]));
        let mut state = vec![9.0];
        assert!(a.hidden_state(&mut state) && state == [3.0, 4.0]);
        assert_eq!((a.scores(1), a.scores(0).len()), (vec![-1.0, -2.0], 3));
        Ok(())
    });
    assert_eq!(got.unwrap()[2..4], ["wait [1, 2] 3 0", "wait [1, 2] 0 1"]);
}

#[test]
fn rows_are_changed_and_drawn_from() {
    let got = asked(|run| {
        let (mut a, b) = (run.prompt()?, run.prompt()?);
        a.mask(|mask| [1, 33].iter().for_each(|t| mask.allow(*t)));
        b.mix(&[(&b, 1.5), (&a, -0.5)]);
        a.set_grammar(None)?;
        let chain = run.chain("{}")?;
        assert_eq!((a.sample(&Chain::REQUEST), a.sample(&chain)), (Ok(7), Err(BranchError::NoToken)));
        a.run(&chain, 5)?;
        a.run_scored(&Chain::REQUEST, 6)?;
        assert_eq!((a.state(), b.state()), (State::Running, State::Ended));
        Ok(())
    });
    assert_eq!(got.unwrap()[2..7], ["mask 1 [2, 2]", "mix 2 [(2, 1.5), (1, -0.5)]", "grammar 1 -1", "run 1 4 5 0", "run 1 0 6 1"]);
}

#[test]
fn tokens_are_shown_and_branches_adopted() {
    let got = asked(|run| {
        let b = run.open_messages("[]")?;
        assert_eq!((run.max_tokens(), run.choices(), run.ends(9), run.ends(8)), (6, 2, true, false));
        run.show(&[3]);
        run.show_scored(&[4, 5], &[-0.5, -0.25]);
        assert!(run.show_choice(0, &[], None) && !run.show_choice(1, &[6], Some(&[-1.0])));
        run.adopt(1, &b, 2);
        Ok(())
    });
    let want =
        ["messages []", "show 0 [3] []", "show 0 [4, 5] [-0.5, -0.25]", "show 0 [] []", "show 1 [6] [-1.0]", "adopt 1 1 2", "close 1"];
    assert_eq!(got.unwrap(), want);
}

#[test]
fn a_refusal_has_the_hosts_reason() {
    assert_eq!(asked(|run| run.chain("[]").map(drop).map_err(String::from)).unwrap_err(), "temperature is below 0");
    assert_eq!(asked(|run| Ok(drop(run.open_messages("{}")?))).unwrap_err(), "temperature is below 0");
    assert!(asked(|run| (0..4).try_for_each(|_| Ok(core::mem::forget(run.prompt()?)))).unwrap_err().contains("manifest says how many"));
}
