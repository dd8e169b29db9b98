//! The command `stampede report`: prints an earlier run's table again, or writes its page, charts
//! or test cases.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use stampede_model::causes::chain;
use stampede_model::record::RESULTS;
use stampede_results::report::{self, CharacterSet, Colour, LoadedRuns, Style};
use stampede_results::store::{self, StoreError};
use stampede_results::summary::price::{PriceError, Prices};

use super::args::{Format, ReportArgs};
use super::fail::CommandError;
use super::shell::{print, print_message};
use super::{Failure, Outcome};

/// Prints the run in the requested format.
pub fn run(args: &ReportArgs) -> Result<Outcome, Failure> {
    if args.out.is_some() && args.format != Format::Svg {
        return Err(ReportError::OutWithoutSvg.into());
    }
    let prices = prices(args)?;
    // A search has its own text. In the other formats its trials are printed like those of any run.
    if let Some(text) = super::capacity::of_run(args)?.or(super::tune::of_run(args)?) {
        if prices.is_some() {
            return Err(ReportError::PriceOfSearch.into());
        }
        return print(text.as_bytes());
    }
    let loaded = LoadedRuns::read(Path::new(RESULTS), &args.runs)?;
    let summary = loaded.summary();
    let text = match args.format {
        Format::Text => {
            // The path goes to stderr, because a pipe needs the table alone.
            if let Some(page) = write_page(&loaded) {
                print_message(&format!("report: {}", page.display()));
            }
            let mut text = report::answer(summary, &style());
            if args.details {
                text += &format!("\n{}", report::text(summary, &style()));
            }
            if let Some(prices) = prices {
                text += &report::price(summary, &prices, &style());
            }
            text
        }
        Format::Html => {
            let page = loaded.page()?;
            report::page::html(&page)
        }
        Format::Markdown => report::markdown(summary),
        Format::Csv => report::csv(summary),
        Format::Json => report::json(summary),
        Format::Svg => charts(&loaded, args.out.as_deref())?,
        Format::Junit => report::junit(summary),
        Format::Bmf | Format::GithubActionBenchmark => exported(&loaded, args.format)?,
    };
    print(text.as_bytes())
}

/// Returns the figures for a tool that keeps them, and says on stderr what it does not get.
fn exported(loaded: &LoadedRuns, format: Format) -> Result<String, Failure> {
    if loaded.runs().count() > 1 {
        return Err(ReportError::OneRunOnly.into());
    }
    let summary = loaded.summary();
    let export = report::export::export(summary);
    export.left_out.iter().for_each(|one| print_message(&one.to_string()));
    Ok(match format {
        Format::Bmf => report::export::bmf(&export),
        _ => report::export::github_action_benchmark(summary, &export),
    })
}

/// Parses `--price`.
fn prices(args: &ReportArgs) -> Result<Option<Prices>, ReportError> {
    if args.price.is_some() && args.format != Format::Text {
        return Err(ReportError::PriceIsText);
    }
    read_prices(args.price.as_deref())
}

/// Reads the value of `--price`. `None`: it was not given.
pub fn read_prices(text: Option<&str>) -> Result<Option<Prices>, ReportError> {
    text.map(|text| text.parse().map_err(ReportError::Price)).transpose()
}

/// Why a run is not reported.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A directory was named for a format that is printed.
    #[error("`--out` is the directory of `--format svg`")]
    OutWithoutSvg,
    /// Prices were given for a format that has no place for them.
    #[error("`--price` is for the text of a report")]
    PriceIsText,
    /// Prices were given for the results of a search.
    #[error("a search has no prices")]
    PriceOfSearch,
    /// The prices are not understood.
    #[error(transparent)]
    Price(PriceError),
    /// Several runs were named for a format that holds one.
    #[error("a tool that keeps figures over time gets one run at once")]
    OneRunOnly,
    /// The run has no charts.
    #[error("run `{run}` has nothing to draw")]
    NothingToDraw {
        /// Name of the run.
        run: String,
    },
}

impl CommandError for ReportError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            ReportError::OutWithoutSvg => {
                "the other formats go to stdout: `> FILE` puts them into a file".to_owned()
            }
            ReportError::PriceIsText => "leave `--format` out".to_owned(),
            ReportError::PriceOfSearch => {
                "`--price` is for runs of `compare`, and of `fire --report` with `--watch`"
                    .to_owned()
            }
            ReportError::Price(_) => {
                "as in `--price cpu=0.03,memory=0.004`: a CPU and a GiB for an hour; \
                 `rate=2000` and a currency may follow"
                    .to_owned()
            }
            ReportError::OneRunOnly => {
                "name one: in a table of several runs the names of rows have the runs' letters"
                    .to_owned()
            }
            ReportError::NothingToDraw { .. } => "none of its trials has a load".to_owned(),
        })
    }
}

/// Writes the charts, and returns their paths, one per line.
fn charts(loaded: &LoadedRuns, out: Option<&Path>) -> Result<String, Failure> {
    let charts = report::svg::charts(&loaded.page()?);
    if charts.is_empty() {
        return Err(ReportError::NothingToDraw { run: loaded.summary().run.clone() }.into());
    }
    let directory = out.map_or_else(|| loaded.charts_path(), Path::to_owned);
    let (paths, before) = store::write_files(&directory, &charts)?;
    if before > 0 {
        let files = if before == 1 { "one file".to_owned() } else { format!("{before} files") };
        print_message(&format!("note: {files} of `{}` overwritten", directory.display()));
    }
    Ok(paths.iter().map(|path| format!("{}\n", path.display())).collect())
}

/// Writes the page to its place, and returns its path. If that fails it only prints a message,
/// because a run on a read-only disk still has its table.
pub fn write_page(loaded: &LoadedRuns) -> Option<PathBuf> {
    let path = loaded.page_path();
    let written =
        loaded.page().and_then(|page| store::write_page(&path, &report::page::html(&page)));
    let unwritten = |error: &StoreError| {
        let hint = error.hint().map_or_else(String::new, |hint| format!("; {hint}"));
        print_message(&format!("note: no report.html: {}{hint}", chain(error)));
    };
    written.inspect_err(unwritten).ok()?;
    Some(path)
}

/// Returns the style of standard output: its width, and whether it takes colour and more than
/// ASCII.
pub fn style() -> Style {
    let stdout = std::io::stdout();
    let terminal = stdout.is_terminal();
    let width = if terminal { console::Term::stdout().size().1 } else { PIPE_WIDTH };
    let colour = terminal && std::env::var_os("NO_COLOR").is_none();
    Style {
        width: width.into(),
        colour: if colour { Colour::Always } else { Colour::Never },
        letters: if is_utf8() { CharacterSet::Unicode } else { CharacterSet::Ascii },
    }
}

/// Whether the locale is UTF-8, by the variables in the order that POSIX gives. Without any, the
/// answer is yes, because containers have no locale.
fn is_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    locale.is_none_or(|value| {
        let value = value.to_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

/// Wide enough for every column, because a pipe has no edge.
const PIPE_WIDTH: u16 = 160;
