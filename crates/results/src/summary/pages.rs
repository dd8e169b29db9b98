//! The pages that were measured, as each row answered them before the load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::fact::{Fact, Mismatch};
use stampede_model::observed;
use stampede_model::record::{PageRecord, Validity};

use super::input::TrialData;
use super::model::CaseSummary;

/// A row's answers when each page of the load was requested once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Pages {
    /// The first pages, in the order of the load, with secrets masked.
    pub first: Vec<PageRecord>,
    /// The number of pages that were requested.
    pub asked: u64,
}

impl Pages {
    /// The pages of the first trial that counts and has them. If none does, of any trial that has
    /// them.
    pub fn of(trials: &[&TrialData]) -> Pages {
        let shown = |trial: &&TrialData| {
            let before = trial.record.runtime.before.as_ref()?;
            (!before.pages.is_empty()).then(|| before.pages.clone())
        };
        let counted = trials.iter().filter(|one| one.record.verdict.judged != Validity::Invalid);
        let found = counted.copied().find_map(|trial| shown(&trial));
        let mut first = found.or_else(|| trials.iter().find_map(shown)).unwrap_or_default();
        let asked = first.len() as u64;
        first.truncate(KEPT);
        Pages { first, asked }
    }
}

/// The pages that all rows of a group have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommonPages {
    /// The pages of the first row that every row answered. Of many pages only the first are kept.
    pub pages: Vec<PageRecord>,
    /// The number of pages that are measured, including these.
    pub asked: u64,
    /// Whether every row gave the same answers.
    pub agree: bool,
}

/// The pages that these rows have in common, and whether their answers agree. There are none
/// without rows, or if a row's pages were not requested.
pub fn common(cases: &[&CaseSummary]) -> CommonPages {
    let Some((one, others)) = cases.split_first() else { return CommonPages::default() };
    let answered = |page: &PageRecord| page.status != 0;
    let has = |case: &CaseSummary, path: &str| {
        case.pages
            .first
            .iter()
            .any(|page| without_query(&page.path) == without_query(path) && answered(page))
    };
    let is_common =
        |page: &&PageRecord| answered(page) && others.iter().all(|other| has(other, &page.path));
    let pages: Vec<PageRecord> = one.pages.first.iter().filter(is_common).cloned().collect();
    let is_alike = |other: &&CaseSummary| {
        other.pages.asked == one.pages.asked
            && observed::pages_agree(&one.pages.first, &other.pages.first)
    };
    let agree = !pages.is_empty()
        && pages.len() == one.pages.first.len()
        && others.iter().all(is_alike)
        && cases.iter().all(|case| !differs(case));
    CommonPages { pages, asked: one.pages.asked, agree }
}

/// The path without its query. The query of a page that redirects led to may be a session.
fn without_query(path: &str) -> &str {
    path.split('?').next().unwrap_or_default()
}

/// Whether the row was found to answer differently from the others, including pages that are not
/// kept here.
fn differs(case: &CaseSummary) -> bool {
    let is_answer = |fact: &Fact<Mismatch>| {
        let Fact::Known(mismatch) = fact else { return false };
        matches!(
            mismatch,
            Mismatch::Answer { .. }
                | Mismatch::Page { .. }
                | Mismatch::MorePages { .. }
                | Mismatch::Path { .. }
                | Mismatch::BodySize { .. }
        )
    };
    case.not_comparable.iter().any(is_answer)
}

/// The most pages in a summary. The trial has all of them.
const KEPT: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::RunData;

    fn page(path: &str, title: &str, bytes: u64) -> PageRecord {
        let (path, title) = (path.to_owned(), title.to_owned());
        PageRecord { path, title, bytes, status: 200, ..PageRecord::default() }
    }

    fn case(first: Vec<PageRecord>) -> CaseSummary {
        let text = include_str!("../../tests/runs/format-2/run.json");
        let record = serde_json::from_str(text).expect("a run");
        let case = super::super::case::summarize(&RunData { record, trials: vec![] }, 0);
        let asked = first.len() as u64;
        CaseSummary { pages: Pages { first, asked }, ..case }
    }

    #[test]
    fn rows_with_the_same_answers_agree() {
        let all = || vec![page("/", "Shop", 18_900), page("/search", "Search", 7_200)];
        let (a, b) = (case(all()), case(all()));
        let found = common(&[&a, &b]);
        assert_eq!((found.pages, found.asked, found.agree), (all(), 2, true));
        assert_eq!(common(&[]), CommonPages::default());
        let unasked = common(&[&a, &case(vec![])]);
        assert_eq!((unasked.pages, unasked.agree), (vec![], false));
    }

    #[test]
    fn rows_with_another_title_or_other_pages_do_not_agree() {
        let a = case(vec![page("/", "Shop", 18_900), page("/search", "Search", 7_200)]);
        let title = case(vec![page("/", "Installer", 18_900), page("/search", "Search", 7_200)]);
        assert!(!common(&[&a, &title]).agree);
        let fewer = case(vec![page("/", "Shop", 18_900)]);
        let found = common(&[&a, &fewer]);
        assert_eq!((found.pages.len(), found.agree), (1, false));
        let mut marked = a.clone();
        marked.not_comparable.push(Fact::Known(Mismatch::MorePages { pages: 2 }));
        assert!(!common(&[&a, &marked]).agree, "in pages that are not kept here");
    }
}
