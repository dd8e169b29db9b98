//! Renders what a million requests cost, and how many servers a rate needs.

use stampede_model::words;

use super::Style;
use super::columns::{names, rows};
use super::layout::{Column, Field, Section, Tone, blocks, tables};
use super::lines::Lines;
use super::text::title;
use crate::summary::Summary;
use crate::summary::model::CaseSummary;
use crate::summary::price::{Cost, LOAD, Prices, cost};

/// Renders the costs of each group. A row whose CPU or memory is not known has none.
pub fn price(summary: &Summary, prices: &Prices, style: &Style) -> String {
    let mut page = Lines::new(*style);
    for group in &summary.groups {
        let cases: Vec<&CaseSummary> = summary.cases_of(group).collect();
        let shown = rows(&cases);
        if shown.is_empty() {
            continue;
        }
        page.blank();
        page.paragraph(&title(group, &cases), Tone::Strong, 2);
        let names = names(&shown);
        let sections = [section(&shown, prices)];
        // The section needs no title: the group has one.
        let table = tables(style, &names, &sections).map(|lines| lines[1..].to_vec());
        page.extend(table.unwrap_or_else(|| blocks(style, &names, &sections)));
    }
    page.blank();
    page.paragraph(&explained(), Tone::Faint, 0);
    page.finish()
}

/// What a server is here.
fn explained() -> String {
    format!(
        "A server has the CPUs of the budget and the memory that the row used at most, is paid for \
         as a whole, and is planned for {} of what it can do. Databases and balancers outside of \
         the stack are not in it.",
        words::share(LOAD)
    )
}

fn section(rows: &[&CaseSummary], prices: &Prices) -> Section {
    let column = |title: &str, words: &dyn Fn(&Cost) -> String| Column {
        title: title.to_owned(),
        fields: rows.iter().map(|case| field(cost(case, prices).as_ref().map(words))).collect(),
    };
    let unit = match prices.currency.as_str() {
        "" => "1 million requests".to_owned(),
        currency => format!("1 million requests, {currency}"),
    };
    let mut columns = vec![
        column("requests/s of a server", &|cost| words::rate(cost.rate_per_server)),
        column(&unit, &|cost| money(cost.million)),
    ];
    if let Some(rate) = prices.rate_per_second {
        let title = format!("servers for {} /s", words::rate(rate));
        columns.push(column(&title, &|cost| {
            cost.servers.map_or_else(String::new, |servers| words::count(servers as u64))
        }));
    }
    Section { title: String::new(), columns }
}

fn field(text: Option<String>) -> Field {
    text.map_or(Field { tone: Tone::Faint, ..Field::plain("—") }, Field::plain)
}

/// Three significant digits: a million requests may cost less than a cent.
fn money(value: f64) -> String {
    match value {
        large if large >= 0.1 => words::significant(large),
        small if small <= 0.0 => "0".to_owned(),
        small => {
            let places = (2.0 - small.log10().floor()).clamp(0.0, 12.0) as usize;
            format!("{small:.places$}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_keep_their_digits() {
        let cases = [
            (12_345.0, "12 345"),
            (0.5, "0.50"),
            (0.012_34, "0.0123"),
            (3.4e-6, "0.00000340"),
            (0.0, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(money(value).replace(['\u{202f}', '\u{a0}'], " "), text);
        }
    }
}
