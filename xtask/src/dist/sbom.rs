//! The list of the binary's parts as CycloneDX 1.6 in JSON (ECMA-424).

use serde_json::{Value, json};

use super::crates::{Crate, Linked};
use super::source::Source;
use super::tools::Tools;

/// The document for one binary. It says nothing of the time or the place of the build.
pub fn cyclone_dx(linked: &Linked, tools: &Tools, source: &Source) -> String {
    let program = linked.program();
    let own = &linked.crates[program];
    let parts = linked.crates.iter().filter(|(key, _)| *key != program);
    let parts = parts.map(|(_, one)| component(one, "library"));
    let parts: Vec<Value> = parts.chain(beside(tools)).collect();
    let uses = linked.crates.values().map(|one| {
        let on: Vec<String> = one.uses.iter().map(|(name, version)| purl(name, version)).collect();
        json!({ "ref": purl(&one.name, &one.version), "dependsOn": on })
    });
    let uses: Vec<Value> = uses.collect();
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": source.date,
            "tools": { "components": [
                { "type": "application", "name": "rustc", "version": tools.rustc },
                { "type": "application", "name": "zig", "version": tools.zig },
            ] },
            "component": component(own, "application"),
            "properties": [{ "name": "stampede:commit", "value": source.commit }],
        },
        "components": parts,
        "dependencies": uses,
    });
    format!("{document:#}\n")
}

fn component(one: &Crate, kind: &str) -> Value {
    let purl = purl(&one.name, &one.version);
    let mut component = json!({
        "type": kind,
        "bom-ref": purl,
        "name": one.name,
        "version": one.version,
        "licenses": [{ "expression": one.licence }],
        "purl": purl,
    });
    if let Some(checksum) = &one.checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if let Some(repository) = &one.repository {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}

/// What Rust itself links, and the script of the page, which cargo does not know of.
fn beside(tools: &Tools) -> Vec<Value> {
    let part = |name: &str, licence: &str| {
        json!({
            "type": "library",
            "bom-ref": name,
            "name": name,
            "licenses": [{ "expression": licence }],
        })
    };
    let mut library = part("rust-std", "MIT OR Apache-2.0");
    library["version"] = json!(tools.rustc);
    vec![
        library,
        part("musl", "MIT"),
        part("llvm-libunwind", "Apache-2.0 WITH LLVM-exception"),
        part("uPlot", "MIT"),
    ]
}

/// The address of a package (package-url).
fn purl(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{version}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::crates::tests::sample;
    use crate::dist::tools::tests::sample as tools;

    #[test]
    fn every_part_and_every_use_is_named() {
        let source = Source {
            commit: "0a1b".to_owned(),
            epoch: "86400".to_owned(),
            date: "1970-01-02T00:00:00Z".to_owned(),
            mail_date: "Fri, 02 Jan 1970 00:00:00 +0000".to_owned(),
            is_changed: false,
        };
        let text = cyclone_dx(&sample(), &tools(), &source);
        let document: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(document["metadata"]["component"]["bom-ref"], "pkg:cargo/stampede@1.0");
        assert_eq!(document["metadata"]["timestamp"], "1970-01-02T00:00:00Z");
        let parts = document["components"].as_array().expect("a list");
        let names: Vec<_> = parts.iter().filter_map(|part| part["name"].as_str()).collect();
        assert_eq!(names, ["b", "rust-std", "musl", "llvm-libunwind", "uPlot"]);
        assert_eq!(parts[0]["hashes"][0]["content"], "b0");
        assert_eq!(parts[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        let uses = document["dependencies"].as_array().expect("a list");
        let program = uses.iter().find(|one| one["ref"] == "pkg:cargo/stampede@1.0");
        assert_eq!(program.expect("the program")["dependsOn"], json!(["pkg:cargo/b@1.0"]));
    }
}
