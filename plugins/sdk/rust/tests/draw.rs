// SPDX-License-Identifier: MIT

//! Draws as in plugins/abi/testdata/draws.json, which the Go SDK's tests do, too: the same logits
//! and the same random numbers give the same weights and the same tokens. With PENSTOCK_UPDATE=1
//! in the environment it writes the results of its cases anew.

use penstock::json::{self, Value};
use penstock::testing::{Request, Session};
use penstock::{Candidates, Choice, Manifest, Plugin, Row, Token};

struct Drawer {
    weights: Vec<f32>,
    sum: f32,
}

#[penstock::export]
impl Plugin for Drawer {
    const MANIFEST: Manifest = Manifest { name: "drawer", ..Manifest::DEFAULT };

    fn open(_: &penstock::Request) -> Result<Self, String> {
        Ok(Drawer { weights: Vec::new(), sum: 0.0 })
    }

    fn sample(&mut self, candidates: &mut Candidates) -> Choice {
        let (weights, sum) = candidates.softmax(&mut self.weights);
        self.sum = sum;
        Choice::Take(candidates.draw(weights, sum))
    }
}

struct RowDrawer(Drawer);

#[penstock::export]
impl Plugin for RowDrawer {
    const MANIFEST: Manifest = Manifest { name: "row-drawer", ..Manifest::DEFAULT };

    fn open(request: &penstock::Request) -> Result<Self, String> {
        Ok(RowDrawer(Drawer::open(request)?))
    }

    fn sample_row(&mut self, row: &mut Row) -> Choice {
        let (weights, sum) = row.softmax(&mut self.0.weights);
        self.0.sum = sum;
        Choice::Take(row.draw(weights, sum))
    }
}

/// A case: what is drawn from, and what comes of it at the positions of eight tokens.
struct Case {
    seed: u64,
    prompt: usize,
    ids: Option<Vec<Token>>, // none: the whole row
    logits: Vec<f32>,
}

impl Case {
    fn read(value: &Value) -> Case {
        let logits: Vec<Option<f32>> = value.read("logits").unwrap();
        Case {
            seed: value.read("seed").unwrap(),
            prompt: value.read("prompt").unwrap(),
            ids: value.read("ids").unwrap(),
            logits: logits.into_iter().map(|x| x.unwrap_or(f32::NEG_INFINITY)).collect(),
        }
    }

    /// The tokens that are drawn, and the bits of the weights' sum.
    fn drawn(&self) -> (Vec<Token>, String) {
        let request = Request::new().pieces(&[""; 1000]).prompt(&vec![0; self.prompt]).seed(self.seed);
        match &self.ids {
            Some(ids) => {
                let mut session = Session::<Drawer>::open(request);
                let draw = |s: &mut Session<Drawer>| s.sample(&mut ids.clone(), &mut self.logits.clone());
                eight(&mut session, draw, |d| d.sum)
            }
            None => {
                let mut session = Session::<RowDrawer>::open(request);
                let draw = |s: &mut Session<RowDrawer>| s.sample_row(&mut self.logits.clone());
                eight(&mut session, draw, |d| d.0.sum)
            }
        }
    }
}

fn eight<P: penstock::glue::Exported>(
    session: &mut Session<P>,
    draw: impl Fn(&mut Session<P>) -> Choice,
    sum: impl Fn(&P) -> f32,
) -> (Vec<Token>, String) {
    let mut tokens = Vec::new();
    for _ in 0..8 {
        match draw(session) {
            Choice::Take(token) => tokens.push(token),
            other => panic!("{:?} is no token", other),
        }
        session.accept(0);
    }
    (tokens, format!("{:08x}", sum(session.plugin()).to_bits()))
}

#[test]
fn draws_are_those_of_the_go_sdk() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../abi/testdata/draws.json");
    let file = json::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases: Vec<Value> = file.read("cases").unwrap();
    assert!(cases.len() > 5, "the cases are gone");
    let mut lines = Vec::new();
    for case in &cases {
        let (tokens, sum) = Case::read(case).drawn();
        if std::env::var_os("PENSTOCK_UPDATE").is_none() {
            assert_eq!((tokens, sum), (case.read("tokens").unwrap(), case.read("sum").unwrap()), "{}", case);
            continue;
        }
        let given = ["seed", "prompt", "ids", "logits"].iter().filter_map(|name| Some(format!("\"{}\": {}", name, case.get(name)?)));
        lines.push(format!("\t\t{{{}, \"sum\": \"{}\", \"tokens\": {:?}}}", given.collect::<Vec<_>>().join(", "), sum, tokens));
    }
    if !lines.is_empty() {
        let about = file.get("about").unwrap();
        std::fs::write(path, format!("{{\n\t\"about\": {},\n\t\"cases\": [\n{}\n\t]\n}}\n", about, lines.join(",\n"))).unwrap();
    }
}

#[test]
fn the_first_candidates_are_in_the_same_memory() {
    let (mut ids, mut logits) = ([7, 8, 9], [2.0, 1.0, 1.0]);
    let mut all = Candidates::new(&mut ids, &mut logits);
    let mut weights = Vec::new();
    let mut first = all.first(2);
    assert_eq!((first.len(), first.ids()), (2, &[7, 8][..]));
    let (weights, sum) = first.softmax(&mut weights);
    assert_eq!((weights.len(), sum), (2, weights[0] + weights[1]));
    first.ban(1);
    assert_eq!(all.first(0).len(), 0);
    assert_eq!((all.len(), all.logits()), (3, &[2.0, f32::NEG_INFINITY, 1.0][..]));
}
