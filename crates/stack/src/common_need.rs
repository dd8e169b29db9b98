//! Adds the needs that several directories share: `runtimes/common/needs/<name>.yaml`.

use std::collections::BTreeMap;

use serde_saphyr::Spanned;

use super::catalogue::parse;
use super::directory::Sources;
use super::error::{RuntimeError, nearest};
use super::manifest::Need;

/// The directory of the shared needs.
const DIRECTORY: &str = "common/needs";
/// The ending of their files.
const ENDING: &str = ".yaml";

/// Adds to `needs` the shared needs that the manifest `file` names. A need of `needs` without log
/// patterns gets those of the shared need with its name: a need of one name is the same program in
/// all directories.
///
/// # Errors
/// There is no such shared need, or its file is wrong.
pub(super) fn add(
    sources: &Sources,
    file: &str,
    named: &[Spanned<String>],
    needs: &mut BTreeMap<String, Need>,
) -> Result<(), RuntimeError> {
    for name in named {
        let need = read(sources, &name.value)?.ok_or_else(|| unknown(sources, file, name))?;
        needs.entry(name.value.clone()).or_insert(need);
    }
    for (name, need) in needs.iter_mut().filter(|(_, need)| need.logs.is_empty()) {
        need.logs = read(sources, name)?.map(|shared| shared.logs).unwrap_or_default();
    }
    Ok(())
}

/// The shared need of this name; `None`: there is none.
fn read(sources: &Sources, name: &str) -> Result<Option<Need>, RuntimeError> {
    let file = format!("{DIRECTORY}/{name}{ENDING}");
    sources.text(&file).map(|text| parse(&file, &text)).transpose()
}

fn unknown(sources: &Sources, file: &str, name: &Spanned<String>) -> RuntimeError {
    let files = sources.names(DIRECTORY);
    let known = files.iter().filter_map(|known| known.strip_suffix(ENDING));
    RuntimeError::Manifest {
        file: file.into(),
        line: name.referenced.line(),
        column: name.referenced.column(),
        problem: format!("there is no common need `{}`", name.value),
        nearest: nearest(&name.value, known),
    }
}
