//! Computes medians, and prints tables in Markdown.

/// The median; for an even number of values the mean of the middle two.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[count / 2],
        count => f64::midpoint(values[count / 2 - 1], values[count / 2]),
    }
}

/// The two values that enclose the true median with a probability of at least 93 %, whatever the
/// distribution: the number left out at each end comes from the binomial distribution (Conover,
/// *Practical Nonparametric Statistics*, 1999, 3.2). With fewer than five values that is not
/// reached: then the lowest and the highest.
pub fn middle(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as i32;
    // The probabilities that exactly, and that at most, this many values are below the median.
    let mut just = 0.5_f64.powi(count);
    let mut at_most = just;
    let mut out = 0;
    loop {
        just *= f64::from(count - out) / f64::from(out + 1);
        at_most += just;
        if 2.0 * at_most > 0.07 {
            break;
        }
        out += 1;
    }
    let at = |index: i32| sorted.get(index as usize).copied().unwrap_or(f64::NAN);
    (at(out), at(count - 1 - out))
}

/// The smallest value that a `share` of the sorted values does not exceed.
pub fn at_share(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// Rows of cells below a heading.
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

    /// The table with the first column left-aligned and numbers right-aligned.
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
