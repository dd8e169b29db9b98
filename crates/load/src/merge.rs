//! Adds the results of one part of a load to those of another: of agents on several machines.

use stampede_model::counts::{Connections, End};

use crate::collector::Collected;
use crate::example::merged;
use crate::report::LoadResult;
use crate::run::sum;

impl LoadResult {
    /// The results of a load of which no part is known yet.
    pub fn nothing() -> LoadResult {
        sum(Collected::nothing(), &[])
    }

    /// Adds the results of another part of the same load. Counts and histograms are added, so
    /// nothing is rounded. Of lengths the longest counts, and of busy shares the largest. Maxima of
    /// requests in flight are added although they need not be simultaneous: an upper bound.
    pub fn add(&mut self, more: &LoadResult) {
        self.counts.add(&more.counts);
        self.times.merge(&more.times);
        self.service_time_all.merge(&more.service_time_all);
        self.connect_time.merge(&more.connect_time);
        self.scheduled = self.scheduled.max(more.scheduled);
        self.lasted = self.lasted.max(more.lasted);
        self.ok_inside += more.ok_inside;
        self.in_flight_integral += more.in_flight_integral;
        self.in_flight_max += more.in_flight_max;
        self.connections = [&self.connections, &more.connections].into_iter().sum::<Connections>();
        self.busy_share_max = self.busy_share_max.max(more.busy_share_max);
        self.stretched = self.stretched.max(more.stretched);
        self.examples = merged(self.examples.iter().chain(&more.examples));
        if self.engine.is_empty() {
            self.engine.clone_from(&more.engine);
            self.traffic = more.traffic.clone();
        } else if !self.engine.split(", ").any(|engine| engine == more.engine) {
            self.engine = format!("{}, {}", self.engine, more.engine);
        }
        if more.end == End::Stopped {
            self.end = End::Stopped;
        }
        self.not_due += more.not_due;
        for (tag, figures) in &more.tags {
            self.tags.entry(tag.clone()).or_default().merge(figures);
        }
        self.records_lost += more.records_lost;
        // Every part reads the whole of the same file, so there is nothing to add up.
        if self.traffic.failed.is_none() && more.traffic.failed.is_some() {
            self.traffic = more.traffic.clone();
        }
        for (kind, count) in &more.odd {
            *self.odd.entry(kind.clone()).or_default() += count;
        }
        self.unusual.add(&more.unusual);
        self.aside.add(more.aside);
    }
}
