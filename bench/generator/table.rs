//! Medians, and tables in Markdown.

/// The middle one; of an even number the mean of both.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[count / 2],
        count => f64::midpoint(values[count / 2 - 1], values[count / 2]),
    }
}

/// The smallest value that `share` of `sorted` do not exceed.
pub fn at_share(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// Rows of cells below a head.
pub struct Table {
    lines: Vec<Vec<String>>,
}

impl Table {
    pub fn new(head: &[&str]) -> Table {
        Table { lines: vec![head.iter().map(ToString::to_string).collect()] }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.lines.push(cells.into_iter().collect());
    }

    /// The first column to the left, numbers to the right.
    pub fn markdown(&self) -> String {
        let columns = self.lines[0].len();
        let width = |column: usize| {
            let cells = self.lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for (number, line) in self.lines.iter().enumerate() {
            let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            text += &format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
            if number == 0 {
                let rules = widths.iter().enumerate().map(|(column, width)| {
                    if column == 0 {
                        "-".repeat(*width)
                    } else {
                        format!("{}:", "-".repeat(width - 1))
                    }
                });
                text += &format!("| {} |\n", rules.collect::<Vec<_>>().join(" | "));
            }
        }
        text
    }
}
