//! What a chart can show, one at a time: the page has a choice for it, and here each is a file.

use super::name::part;

/// One of the things that a chart can show.
#[derive(Clone, Debug)]
pub struct View<T> {
    /// Behind the chart's name in that of its file; empty: the chart's name is enough.
    name: String,
    /// What it shows.
    pub of: T,
}

impl<T> View<T> {
    /// With a name, as the page's choice has it.
    pub fn new(name: &str, of: T) -> View<T> {
        View { name: name.to_owned(), of }
    }

    /// The last part of a file's name: `response-time-p95`.
    pub fn file(&self, chart: &str) -> String {
        if self.name.is_empty() {
            chart.to_owned()
        } else {
            format!("{chart}-{}", part(&self.name))
        }
    }
}

/// The sum of all parts, and each part where there are several; `None` is the sum.
pub fn whole_and_parts(parts: &[String]) -> Vec<View<Option<&str>>> {
    let parts = if parts.len() > 1 { parts } else { &[] };
    let each = parts.iter().map(|part| View::new(part, Some(part.as_str())));
    std::iter::once(View::new("", None)).chain(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_is_the_whole_and_names_are_safe() {
        let files = |parts: &[&str]| {
            let parts: Vec<String> = parts.iter().copied().map(str::to_owned).collect();
            let views = whole_and_parts(&parts);
            views.iter().map(|view| view.file("cpu")).collect::<Vec<_>>()
        };
        assert_eq!(files(&["php"]), ["cpu"]);
        assert_eq!(files(&["php", "../front"]), ["cpu", "cpu-php", "cpu-front"]);
    }
}
