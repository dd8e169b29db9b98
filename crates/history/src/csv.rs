//! One line for each row of each run, for change-point tools and spreadsheets (RFC 4180).

use stampede_model::record::LoadModel;
use stampede_results::report;
use stampede_results::report::csv_fields::{guarded, line, number};
use stampede_results::summary::diff::Measure;

use super::model::{CaseOfRun, FigureOfRun, History, ListedRun};

/// Renders the rows of all runs that have ended, oldest run first. Numbers are plain, with their
/// unit in the header. A figure that is not known exactly is empty, and so are its bounds; so is
/// every figure of a row without a trial that counts.
pub fn csv(history: &History) -> String {
    let mut out = String::new();
    line(header().into_iter(), &mut out);
    for run in history.runs.iter().rev() {
        run.cases.iter().for_each(|case| line(fields(run, case).into_iter(), &mut out));
    }
    out
}

/// What a row is, before its figures.
const ABOUT: [&str; 14] = [
    "started_at",
    "run",
    "commit",
    "changed_files",
    "stampede",
    "machine",
    "runtime",
    "app",
    "load",
    "load_text",
    "model",
    "verdict",
    "trials_counted",
    "control",
];

/// The figures, with the model under which a column is filled.
fn columns() -> impl Iterator<Item = (Measure, Option<LoadModel>)> {
    Measure::SHOWN.into_iter().flat_map(|measure| match measure {
        Measure::Percentile(_) => {
            vec![(measure, Some(LoadModel::Open)), (measure, Some(LoadModel::Closed))]
        }
        other => vec![(other, None)],
    })
}

fn header() -> Vec<String> {
    let mut names: Vec<String> = ABOUT.map(str::to_owned).to_vec();
    for (measure, model) in columns() {
        let name = column(measure, model);
        names.extend(["", "_low", "_high", "_to_control"].map(|end| format!("{name}{end}")));
    }
    names.push("changes".to_owned());
    names
}

fn column(measure: Measure, model: Option<LoadModel>) -> String {
    match (measure, model) {
        (Measure::Throughput, _) => "throughput_per_second".to_owned(),
        (Measure::Ok, _) => "ok_share".to_owned(),
        (Measure::CpuCost, _) => "cpu_cost_us".to_owned(),
        (Measure::Memory, _) => "memory_bytes_max".to_owned(),
        (Measure::FirstAnswer, _) => "first_answer_ns".to_owned(),
        (times, Some(LoadModel::Closed)) => format!("service_time_ns_{}", times.name()),
        (times, _) => format!("response_time_ns_{}", times.name()),
    }
}

fn fields(run: &ListedRun, case: &CaseOfRun) -> Vec<String> {
    let model = match case.model {
        LoadModel::Open => "open",
        LoadModel::Closed => "closed",
    };
    let control = match (&case.control, case.is_control) {
        (Some([runtime, app]), _) => guarded(&format!("{runtime} · {app}")),
        (None, true) => "itself".to_owned(),
        (None, false) => String::new(),
    };
    let mut fields = vec![
        run.entry.started_at.clone(),
        guarded(&run.entry.name),
        guarded(run.commit.as_deref().unwrap_or_default()),
        run.changed_files.map_or(String::new(), |files| files.to_string()),
        run.stampede.clone(),
        guarded(&run.machine),
        guarded(&case.runtime),
        guarded(&case.app),
        guarded(&case.load),
        guarded(&case.load_text),
        model.to_owned(),
        report::verdict(case.verdict).to_owned(),
        case.trials_counted.to_string(),
        control,
    ];
    for (measure, model) in columns() {
        let figure = case.figure(measure).filter(|_| model.is_none_or(|model| model == case.model));
        fields.extend(figure.map_or(Default::default(), numbers));
    }
    fields.push(changes(case));
    fields
}

/// Value, lower bound, upper bound, ratio to the control.
fn numbers(figure: &FigureOfRun) -> [String; 4] {
    let (low, high) = figure.value.interval().unzip();
    let ratio = figure.to_control.map(|ratio| ratio.value);
    [figure.value.known(), low, high, ratio].map(|value| value.map_or(String::new(), number))
}

/// The changes that begin with a run: `cpu_cost 1.081; p95 1.052`.
fn changes(case: &CaseOfRun) -> String {
    let change =
        |one: &FigureOfRun| Some(format!("{} {:.3}", one.figure, one.change.as_ref()?.ratio.value));
    case.figures.iter().filter_map(change).collect::<Vec<_>>().join("; ")
}
