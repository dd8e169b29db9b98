//! The flags of remote write: where live figures go.

use clap::Args;
use stampede_model::event::EventListener;
use stampede_model::record::RunRecord;
use stampede_remote_write::{
    RemoteWriter, Settings, StartError, Target, TargetError, WithRemoteWrite, user_labels,
};

use super::Failure;
use super::fail::CommandError;
use super::shell::print_message;

/// Where live figures go.
#[derive(Args, Clone, Debug, Default)]
pub struct RemoteFlags {
    /// Send live figures by Prometheus remote write: http://localhost:9090/api/v1/write; user,
    /// password or token come from the environment (docs/prometheus.md)
    #[arg(long, value_name = "URL", env = "STAMPEDE_REMOTE_WRITE_URL", hide_env = true)]
    pub remote_write: Option<String>,
    /// Add this label to them (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub remote_write_label: Vec<String>,
}

impl CommandError for TargetError {
    fn hint(&self) -> Option<String> {
        Some(self.hint())
    }
}

impl RemoteFlags {
    /// Starts to send, if anybody asked for it. Nothing is sent before the first load.
    ///
    /// # Errors
    /// The URL or a label is wrong.
    pub fn start(&self) -> Result<Option<RemoteWriter>, Failure> {
        let labels = user_labels(self.remote_write_label.iter().map(String::as_str))?;
        let Some(url) = self.remote_write.as_deref().filter(|url| !url.is_empty()) else {
            return Ok(None);
        };
        let target = Target::parse(url, |name| std::env::var(name).ok())?;
        let settings = Settings { labels, ..Settings::new(target) };
        let writer = RemoteWriter::start(settings);
        writer.map(Some).map_err(|error: StartError| Failure::new(&error))
    }
}

/// Passes the events of a search to both. A search has no event for its start.
pub fn of_search<'a>(
    listener: &'a mut dyn EventListener,
    writer: &'a mut Option<RemoteWriter>,
    record: &RunRecord,
) -> WithRemoteWrite<'a> {
    writer.iter_mut().for_each(|writer| writer.set_run(&record.id));
    WithRemoteWrite { listener, writer: writer.as_mut() }
}

/// Sends the rest and says what arrived. A measurement does not fail because nobody could watch it.
pub fn finish(writer: Option<RemoteWriter>) {
    if let Some(writer) = writer {
        print_message(&writer.finish().to_string());
    }
}
