//! Reads the files of rows that a plan puts into its requests: each iteration of the load takes the
//! next row.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use roxmltree::Node;

use super::values::Values;

/// A file of rows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// How many rows there are, 1 or more.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The names and values of a row. After the last row comes the first.
    pub fn row(&self, index: usize) -> impl Iterator<Item = (&String, &String)> {
        self.columns.iter().zip(&self.rows[index % self.rows.len()])
    }
}

/// A file that a plan names.
#[derive(Debug)]
struct Known {
    /// The line of the element.
    line: usize,
    /// How the file is called in messages.
    name: String,
    /// `None`: it has no rows that can be read.
    table: Option<Rc<Table>>,
}

/// The files of a plan, each read once.
#[derive(Debug)]
pub(super) struct Tables {
    directory: PathBuf,
    /// By where the element that names the file begins.
    known: BTreeMap<usize, Known>,
}

impl Tables {
    /// Those of a plan at this path, of which none was read yet.
    pub fn beside(plan: &Path) -> Tables {
        let directory = plan.parent().map(Path::to_path_buf).unwrap_or_default();
        Tables { directory, known: BTreeMap::new() }
    }

    /// The rows of a `CSVDataSet`. `None`: its file is not there, or is no table.
    pub fn of(&mut self, element: Node<'_, '_>, values: &Values) -> Option<Rc<Table>> {
        let known = self.known.entry(element.range().start).or_insert_with(|| Known {
            line: values.line(element),
            name: name(element, values),
            table: read(element, values, &self.directory).map(Rc::new),
        });
        known.table.clone()
    }

    fn tables(&self) -> impl Iterator<Item = (&Known, &Table)> {
        self.known.values().filter_map(|known| Some((known, known.table.as_deref()?)))
    }

    /// Lines and names of the files that have more rows.
    pub fn longer_than(&self, rows: usize) -> Vec<(usize, String)> {
        let longer = self.tables().filter(|(_, table)| table.len() > rows);
        longer.map(|(known, _)| (known.line, known.name.clone())).collect()
    }

    /// Rows of the longest file; 1 if there is none.
    pub fn most_rows(&self) -> usize {
        self.tables().map(|(_, table)| table.len()).max().unwrap_or(1)
    }
}

/// A file of rows with the names of its columns.
pub(super) fn name(element: Node<'_, '_>, values: &Values) -> String {
    let file = values.text(element, "filename").unwrap_or_default();
    let columns = values.text(element, "variableNames").unwrap_or_default();
    match columns.is_empty() {
        true => format!("CSVDataSet {file}"),
        false => format!("CSVDataSet {file}: {columns}"),
    }
}

fn read(element: Node<'_, '_>, values: &Values, directory: &Path) -> Option<Table> {
    let name = values.text(element, "filename").filter(|name| !name.is_empty())?;
    let path = directory.join(name);
    // A pipe or a device may never end.
    std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    File::open(&path).ok()?.take(BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= BYTES_MAX)?;
    stampede_mask::text(&text);
    let notation = Notation {
        columns: values.text(element, "variableNames")?,
        delimiter: match values.text(element, "delimiter")?.as_str() {
            "\\t" => '\t',
            other => other.chars().next().unwrap_or(','),
        },
        has_quotes: values.is_on(element, "quotedData"),
        skips_first: values.is_on(element, "ignoreFirstLine"),
    };
    notation.table(&text)
}

/// How a file of rows is written.
struct Notation {
    /// The names of the columns. Empty: the first row has them.
    columns: String,
    delimiter: char,
    has_quotes: bool,
    /// Whether the first row is none, where the names are given.
    skips_first: bool,
}

impl Notation {
    fn table(&self, text: &str) -> Option<Table> {
        let mut rows = self.rows(text.strip_prefix('\u{feff}').unwrap_or(text));
        let columns = match self.columns.is_empty() {
            true if rows.is_empty() => return None,
            true => rows.remove(0),
            false => self.columns.split(',').map(str::to_owned).collect(),
        };
        if self.skips_first && !self.columns.is_empty() && !rows.is_empty() {
            rows.remove(0);
        }
        let columns = columns.iter().map(|name| name.trim().to_owned()).collect();
        (!rows.is_empty()).then_some(Table { columns, rows })
    }

    /// The rows with something in them. A quote within quotes is written twice (RFC 4180).
    fn rows(&self, text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut value) = (Vec::new(), Vec::new(), String::new());
        let mut is_quoted = false;
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '"' if is_quoted && letters.peek() == Some(&'"') => {
                    letters.next();
                    value.push('"');
                }
                '"' if is_quoted => is_quoted = false,
                '"' if self.has_quotes && value.is_empty() => is_quoted = true,
                _ if is_quoted => value.push(letter),
                '\n' => {
                    row.push(std::mem::take(&mut value));
                    rows.push(std::mem::take(&mut row));
                }
                '\r' if letters.peek() == Some(&'\n') => {}
                _ if letter == self.delimiter => row.push(std::mem::take(&mut value)),
                _ => value.push(letter),
            }
        }
        row.push(value);
        rows.push(row);
        rows.retain(|row| row.iter().any(|value| !value.is_empty()));
        rows
    }
}

/// Size of the largest file of rows, in bytes.
const BYTES_MAX: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(columns: &str, has_quotes: bool, skips_first: bool, text: &str) -> Option<Table> {
        let columns = columns.to_owned();
        Notation { columns, delimiter: ',', has_quotes, skips_first }.table(text)
    }

    #[test]
    fn rows_have_the_names_that_are_given_or_those_of_the_first() {
        let expected = |columns: &[&str], rows: &[&[&str]]| {
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
            Some(Table {
                columns: owned(columns),
                rows: rows.iter().map(|row| owned(row)).collect(),
            })
        };
        let text = "\u{feff}id,name\r\n1,a b\n\n2,\"c\n";
        assert_eq!(
            table("", false, false, text),
            expected(&["id", "name"], &[&["1", "a b"], &["2", "\"c"]])
        );
        assert_eq!(
            table("x, y", false, true, text),
            expected(&["x", "y"], &[&["1", "a b"], &["2", "\"c"]])
        );
        assert_eq!(
            table("x", true, false, "\"a,\"\"b\n\",c"),
            expected(&["x"], &[&["a,\"b\n", "c"]])
        );
        assert_eq!(table("", false, false, ""), None);
        assert_eq!(table("", false, false, "id\n"), None);
        assert_eq!(table("id", false, true, "id\n"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn what_is_written_with_quotes_reads_back(
            rows in proptest::collection::vec(
                proptest::collection::vec("[a-z,\"\r\n ]{1,6}", 2), 1..5),
        ) {
            let quoted = |value: &String| format!("\"{}\"", value.replace('"', "\"\""));
            let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",");
            let text = rows.iter().map(line).collect::<Vec<_>>().join("\r\n");
            prop_assert_eq!(table("a,b", true, false, &text).map(|table| table.rows), Some(rows));
        }
    }
}
