//! The views of a chart. The page lets the reader choose one; here each view is a file.

use super::name::part;

/// One view of a chart.
#[derive(Clone, Debug)]
pub struct View<T> {
    /// The view's name, which follows the chart's name in the file name. Empty: only the chart's
    /// name.
    name: String,
    /// The data that the view shows.
    pub of: T,
}

impl<T> View<T> {
    /// A view with a name, the same as in the page's choice.
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

/// The sum of all parts, which is `None`, and each part if there are several.
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
