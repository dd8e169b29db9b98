//! Which rows of different runs are one row over time.

use super::model::{CaseOfRun, ListedRun, Series};

/// What must be the same: the row, its load with its requests, and the machine. What else differs
/// between two runs (PHP, settings, a budget) is what a change of a figure may come from.
type Key<'a> = [&'a str; 6];

fn key<'a>(run: &'a ListedRun, case: &'a CaseOfRun) -> Key<'a> {
    [&case.runtime, &case.app, &case.load, &case.load_text, &case.requests, &run.machine]
}

/// Finds the series of `runs`, which are newest first. A row without a trial that counts is no part
/// of any.
pub fn of(runs: &[ListedRun]) -> Vec<Series> {
    let mut all: Vec<(Key<'_>, Series)> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let counted = run.cases.iter().enumerate().filter(|(_, case)| case.trials_counted > 0);
        for (place, case) in counted {
            let key = key(run, case);
            match all.iter_mut().find(|(known, _)| *known == key) {
                Some((_, series)) => series.places.push((at, place)),
                None => all.push((key, Series { places: vec![(at, place)] })),
            }
        }
    }
    let oldest_first = |(_, mut series): (Key<'_>, Series)| {
        series.places.reverse();
        series
    };
    all.into_iter().map(oldest_first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stampede_model::record::LoadModel;
    use stampede_results::history::{Entry, State};
    use stampede_results::summary::model::CaseVerdict;

    fn case(runtime: &str, load_text: &str, trials_counted: u32) -> CaseOfRun {
        CaseOfRun {
            runtime: runtime.to_owned(),
            app: "hello".to_owned(),
            load: "day".to_owned(),
            load_text: load_text.to_owned(),
            requests: String::new(),
            model: LoadModel::Open,
            verdict: CaseVerdict::Valid,
            trials_counted,
            is_control: false,
            control: None,
            figures: Vec::new(),
        }
    }

    fn run(machine: &str, cases: Vec<CaseOfRun>) -> ListedRun {
        let entry = Entry {
            name: String::new(),
            started_at: String::new(),
            state: State::Ended,
            why: String::new(),
            apps: Vec::new(),
            loads: Vec::new(),
            runtimes: Vec::new(),
            rounds: 1,
            trials_ended: 1,
            trials_planned: 1,
            trials_invalid: 0,
            answers: Vec::new(),
        };
        let (stampede, machine) = (String::new(), machine.to_owned());
        ListedRun { entry, stampede, commit: None, changed_files: None, machine, cases }
    }

    #[test]
    fn the_same_row_on_the_same_machine_is_one_series_oldest_first() {
        let runs = [
            run(
                "a",
                vec![case("nginx-fpm", "const(5,9s)", 3), case("caddy-fpm", "const(5,9s)", 3)],
            ),
            run("a", vec![case("nginx-fpm", "const(6,9s)", 3)]),
            run("b", vec![case("nginx-fpm", "const(5,9s)", 3)]),
            run(
                "a",
                vec![case("caddy-fpm", "const(5,9s)", 0), case("nginx-fpm", "const(5,9s)", 1)],
            ),
        ];
        let places: Vec<_> = of(&runs).into_iter().map(|series| series.places).collect();
        assert_eq!(
            places,
            [vec![(3, 1), (0, 0)], vec![(0, 1)], vec![(1, 0)], vec![(2, 0)]],
            "another load, another machine and a row without a trial that counts are apart"
        );
    }
}
