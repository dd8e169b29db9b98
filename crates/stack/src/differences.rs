//! What a runtime does with a request in another way than nginx with PHP-FPM: the sentences of its
//! `paths.yaml` and `requests.yaml`. The tests of the paths and of the requests use the rest.

use serde::Deserialize;

use super::directory::Sources;

#[derive(Deserialize)]
struct Listed {
    differs: Vec<Reason>,
}

#[derive(Deserialize)]
struct Reason {
    because: String,
}

const FILES: [&str; 2] = ["paths.yaml", "requests.yaml"];

/// Each sentence once, in the order of the files. A runtime without such files has none.
pub(super) fn sentences(sources: &Sources) -> Vec<String> {
    let mut all = Vec::new();
    for text in FILES.iter().filter_map(|file| sources.text(file)) {
        // A directory of the user may have another file of this name.
        let Ok(listed) = serde_saphyr::from_str::<Listed>(&text) else { continue };
        for reason in listed.differs {
            if !all.contains(&reason.because) {
                all.push(reason.because);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Directory;

    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let directory = tempfile::tempdir().expect("directory");
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).expect("file");
        }
        let own = Directory::OnDisk(directory.path().to_owned());
        sentences(&Sources::new(own.clone(), own))
    }

    #[test]
    fn the_sentences_of_both_files_are_there_once() {
        let paths = "differs:\n  - because: a\n    unset: { X: '' }\n  - because: b\n";
        let requests = "differs:\n  - because: b\n    requests: ['*']\n  - because: c\n";
        assert_eq!(of(&[("paths.yaml", paths), ("requests.yaml", requests)]), ["a", "b", "c"]);
        assert_eq!(of(&[("requests.yaml", requests)]), ["b", "c"]);
    }

    #[test]
    fn a_runtime_without_a_list_has_no_differences() {
        assert!(of(&[]).is_empty());
        assert!(of(&[("paths.yaml", "other: file")]).is_empty());
    }
}
