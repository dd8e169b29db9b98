//! Draws charts for articles: one SVG file each, the same charts as on the page.
//!
//! ```text
//! Page ─▶ Panel (which trials) ─▶ View (of what) ─▶ Chart (axes, lines) ─▶ Frame (words around) ─▶
//! Element ─▶ text
//! ```
//! The charts are drawn here rather than by a chart library. The well-kept libraries draw on whole
//! pixels, and cut a dashed line into hundreds of short ones, which is visible in print.

mod across;
pub mod capacity;
mod chart;
mod curve;
mod frame;
mod look;
mod name;
mod over_time;
mod panel;
mod rising;
mod scale;
mod spread;
pub mod tune;
mod view;
mod words;

use super::page::Page;
use panel::Panel;

/// A finished chart.
struct RenderedChart {
    /// The last part of its file's name: the chart and its view.
    file: String,
    svg: String,
}

/// All views of all charts, as pairs of a file name and the SVG. Charts without data are left out.
pub fn charts(page: &Page) -> Vec<(String, String)> {
    let looks = look::of_runtimes(page);
    let mut files: Vec<(String, String)> = Vec::new();
    let mut add = |stem: &str, drawn: RenderedChart| {
        let name = name::unique(&format!("{stem}-{}", drawn.file), &files);
        files.push((name, drawn.svg));
    };
    for group in &page.summary.groups {
        let panel = Panel::new(page, group, &looks);
        let stem = format!("{}-{}", name::part(&group.app), name::part(&group.load));
        let mut drawn = over_time::of(&panel);
        drawn.extend(rising::of(&panel));
        drawn.extend(curve::of(&panel));
        drawn.extend(spread::of(&panel));
        drawn.into_iter().for_each(|drawn| add(&stem, drawn));
    }
    for (app, drawn) in across::of(page, &looks) {
        add(&format!("{}-across-loads", name::part(app)), drawn);
    }
    files
}
