//! Remote write of a load on a URL.

use stampede_model::causes::chain;
use stampede_model::counts::Second;
use stampede_model::event::Phase;
use stampede_model::record::{LoadModel, Validity};
use stampede_model::sample::ResourceSample;
use stampede_remote_write::{RemoteWriter, TrialLabels};
use stampede_results::store::run_id;

use super::ready::PreparedLoad;
use crate::cli::remote::finish;
use crate::cli::shell::print_message;

/// A load whose seconds are sent while it runs.
pub struct RemoteLoad {
    writer: RemoteWriter,
    trouble: Option<String>,
}

impl RemoteLoad {
    /// Begins the load's series, with the warm-up if there is one.
    pub fn begin(mut writer: RemoteWriter, ready: &PreparedLoad) -> RemoteLoad {
        let load = ready.choice.name.clone();
        writer.set_run(&format!("fire-{}", run_id(&jiff::Zoned::now())));
        let labels = TrialLabels { load, ..TrialLabels::default() };
        writer.begin_load(&labels, LoadModel::from(&ready.load.model));
        if ready.load.warm_up.is_some() {
            writer.phase(Phase::WarmUp);
        }
        RemoteLoad { writer, trouble: None }
    }

    /// The measured load begins.
    pub fn measure(&mut self) {
        self.writer.phase(Phase::Measure);
    }

    /// A second of warm-up or load is over.
    pub fn second(&mut self, second: &Second) {
        self.writer.second(second);
        // A screen may be in use, so trouble is told at the end.
        let trouble = self.writer.take_trouble();
        let trouble = trouble.map(|one| format!("note: {}; {}", chain(&one), one.error.hint()));
        self.trouble = self.trouble.take().or(trouble);
    }

    /// What the watched server used in about a second.
    pub fn resources(&mut self, sample: &ResourceSample) {
        self.writer.resources(sample);
    }

    /// Ends the series, sends the rest, and says what arrived.
    pub fn end(mut self, verdict: Validity) {
        self.writer.end_load(Some(verdict));
        if let Some(trouble) = self.trouble {
            print_message(&trouble);
        }
        finish(Some(self.writer));
    }
}
