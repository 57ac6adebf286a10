// SPDX-License-Identifier: MIT

//! A plugin that owns its request: it fills in a template, and what does not depend on one another
//! side by side.

mod fields;

use fields::{parse, Field};
use penstock::{host, json::quote, Chain, Manifest, Plugin, Request, Run};

/// The plugin in one request.
pub struct Form {
    fields: Vec<Field>,
    rest: String, // of the template, after the last field
    most: usize,  // tokens of a field
    at_once: usize,
}

#[penstock::export]
impl Plugin for Form {
    const MANIFEST: Manifest = Manifest {
        name: "form-rust",
        summary: "fills in the fields of a template, side by side where they do not depend on one another",
        branches: 16,
        branches_config: "at_once",
        config_schema: r#"{"type": "object", "additionalProperties": false, "required": ["template"], "properties": {
            "template": {"type": "string", "minLength": 3, "maxLength": 20000, "description": "a text with fields like {name}"},
            "after": {"type": "object", "additionalProperties": {"type": "array", "maxItems": 100, "items": {"type": "string"}}, "default": {}, "description": "the fields, all before it, that a field depends on"},
            "max_tokens": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 32, "description": "tokens that a field has at most"},
            "at_once": {"type": "integer", "minimum": 1, "maximum": 16, "default": 4, "description": "fields that are filled at once"}
        }}"#,
        ..Manifest::DEFAULT
    };

    fn open(request: &Request) -> Result<Self, String> {
        let config = &request.config;
        let (fields, rest) = parse(&config.read::<String>("template")?, config.get("after"))?;
        Ok(Form { fields, rest, most: config.read("max_tokens")?, at_once: config.read("at_once")? })
    }

    fn run(&mut self, run: &Run) -> Result<(), String> {
        let mut filling = Vec::new(); // fields, with their branches
        loop {
            for i in 0..self.fields.len() {
                let ready = !self.fields[i].begun && self.fields[i].after.iter().all(|other| self.fields[*other].filled);
                if ready && filling.len() < self.at_once {
                    let mut branch = run.prompt()?;
                    branch.append(&host::tokenize(&self.context(i), 0))?;
                    self.fields[i].begun = true;
                    filling.push((i, branch));
                }
            }
            if filling.is_empty() {
                break;
            }
            run.wait(0, filling.iter().map(|(_, branch)| branch))?;
            for (i, branch) in &mut filling {
                let token = branch.sample(&Chain::REQUEST)?;
                self.fields[*i].add(&host::piece(token), run.ends(token), self.most);
                if !self.fields[*i].filled {
                    branch.append(&[token])?;
                }
            }
            filling.retain(|(i, _)| !self.fields[*i].filled); // the others end
        }
        let text: String = self.fields.iter().map(Field::text).collect();
        run.show(&host::tokenize(&(text + &self.rest), 0));
        let told = self.fields.iter().map(|f| format!("{}:{}", quote(&f.name), quote(f.value().trim())));
        Ok(host::output(format!("{{{}}}", told.collect::<Vec<_>>().join(",")))?)
    }
}

impl Form {
    /// What the model reads between the prompt and a field.
    fn context(&self, i: usize) -> String {
        self.fields[i].after.iter().map(|other| self.fields[*other].text()).collect::<String>() + &self.fields[i].before
    }
}
