// SPDX-License-Identifier: MIT

use multiple_choice::MultipleChoice;
use penstock::testing::Host;
use penstock::{abi, glue};

const END: usize = 6;

/// A request on the words of the test, opened as the host does it.
fn open(choices: &str) -> i32 {
    let config = format!(r#"{{"choices":{}}}"#, choices);
    Host { config, history: vec![0], prompt_tokens: 1, max_tokens: 10, context_size: 100, seed: 7, ..Host::default() }
        .with_words(&["y", "yes", "es", "n", "no", "t"])
        .with_end()
        .install();
    assert_eq!(glue::warm::<MultipleChoice>(), 0);
    glue::open::<MultipleChoice>(glue::Needs { mask: true, ..Default::default() })
}

/// The tokens that the mask allows.
fn allowed() -> Vec<usize> {
    assert_eq!(glue::prepare::<MultipleChoice>(), abi::PREPARE_MASK);
    let (_, at, _) = *Host::current().bound.iter().find(|(kind, _, _)| *kind == abi::BUFFER_MASK).unwrap();
    let word = unsafe { *(at as *const u32) };
    (0..32).filter(|i| word >> i & 1 == 1).collect()
}

#[test]
fn multiple_choice_allows_what_leads_to_a_choice() {
    assert_eq!(open(r#"["yes","no","not"]"#), 0);
    assert_eq!(allowed(), [0, 1, 4], "n leads nowhere: no token writes the o");
    assert_eq!(glue::accept::<MultipleChoice>(4), abi::ACCEPT_CONTINUE);
    assert_eq!(allowed(), [5, END], "no is complete, and not goes on");
    assert_eq!(glue::accept::<MultipleChoice>(5), abi::ACCEPT_STOP);
}

#[test]
fn multiple_choice_goes_back() {
    assert_eq!(open(r#"["yes","no"]"#), 0);
    assert_eq!(glue::accept::<MultipleChoice>(0), abi::ACCEPT_CONTINUE);
    assert_eq!(allowed(), [2]);
    assert_eq!(glue::rewind::<MultipleChoice>(1), 0);
    assert_eq!(allowed(), [0, 1, 4]);
}

#[test]
fn multiple_choice_refuses_what_cannot_be_written() {
    assert_eq!(open(r#"["yes","maybe"]"#), 1);
    assert!(Host::current().failed.starts_with("config.choices[1]"), "{}", Host::current().failed);
}
