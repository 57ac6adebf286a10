// SPDX-License-Identifier: MIT

//! Compiles each file of the folder export, as a crate of its own and for WebAssembly. A comment
//! `//~ TEXT` wants an error with that text in the next line; a file without one must compile, and
//! without a warning.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SDK: &str = env!("CARGO_MANIFEST_DIR");
const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

/// What the compiler says about a file, a line for each error or warning.
fn compiled(file: &Path) -> String {
    let package = Path::new(FOLDER).join("export").join(file.file_stem().unwrap());
    fs::create_dir_all(&package).unwrap();
    let manifest = format!(
        "[package]\nname = \"case\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\n[lib]\npath = {:?}\n\n[dependencies]\npenstock = {{ path = {:?} }}\n\n[workspace]\n",
        file, SDK
    );
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    let mut cargo = Command::new(env::var("CARGO").unwrap());
    cargo.args(["check", "--quiet", "--offline", "--message-format", "short", "--target", "wasm32-unknown-unknown"]);
    cargo.arg("--manifest-path").arg(package.join("Cargo.toml")).env("CARGO_TARGET_DIR", Path::new(FOLDER).join("target"));
    String::from_utf8(cargo.output().unwrap().stderr).unwrap()
}

/// The lines of a file that want an error, and its text.
fn wanted(file: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(file).unwrap();
    let marked = text.lines().enumerate().filter_map(|(i, line)| Some((i + 2, line.split_once("//~ ")?.1)));
    let name = file.file_name().unwrap().to_str().unwrap();
    marked.map(|(line, text)| (format!("{}:{}:", name, line), text.to_string())).collect()
}

#[test]
fn export_takes_plugins_and_says_where_others_are_wrong() {
    let mut files: Vec<PathBuf> = fs::read_dir(Path::new(SDK).join("tests/export")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 10, "the cases are gone");
    for file in files {
        let (said, wanted) = (compiled(&file), wanted(&file));
        for (place, text) in &wanted {
            assert!(said.lines().any(|line| line.contains(place) && line.contains(text)), "{} must say {:?}:\n{}", place, text, said);
        }
        assert!(!wanted.is_empty() || said.is_empty(), "{} must compile:\n{}", file.display(), said);
    }
}
