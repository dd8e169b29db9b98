//! Draws a terminal's text as an SVG picture for the README: `cargo xtask picture < table.txt`.

use std::fmt::Write as _;

/// Draws `text`: the first line is the command, the rest its output. The picture has its own
/// background, so it can be read on light and dark pages.
pub fn svg(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let columns = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let width = columns as f64 * CHARACTER + 2.0 * MARGIN;
    let height = lines.len() as f64 * LINE + 2.0 * MARGIN + BAR;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"stampede in a terminal\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1b1f27\"/>\n"
    );
    for (place, colour) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let x = MARGIN + place as f64 * 18.0;
        let _ = writeln!(svg, "<circle cx=\"{x:.0}\" cy=\"18\" r=\"5\" fill=\"{colour}\"/>");
    }
    svg.push_str("<g font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace\" font-size=\"13\">\n");
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let y = MARGIN + BAR + (number as f64 + 0.8) * LINE;
        let length = line.chars().count() as f64 * CHARACTER;
        // The first line is the command that a person types.
        let colour = if number == 0 { "#7ee787" } else { "#d6dbe5" };
        let _ = writeln!(
            svg,
            "<text x=\"{MARGIN:.0}\" y=\"{y:.1}\" fill=\"{colour}\" textLength=\"{length:.0}\" \
             lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">{}</text>",
            escaped(line)
        );
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The width of a monospace character at 13 px.
const CHARACTER: f64 = 7.8;
/// The distance between two lines.
const LINE: f64 = 18.0;
/// The space around the text.
const MARGIN: f64 = 18.0;
/// The height of the window's title bar.
const BAR: f64 = 22.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        let picture = svg("$ a <b> & c");
        assert!(picture.contains("$ a &lt;b&gt; &amp; c"), "{picture}");
        assert!(!picture.contains("<b>"));
    }

    #[test]
    fn every_line_that_says_something_is_drawn() {
        assert_eq!(svg("a\n\nb\n").matches("<text ").count(), 2);
    }
}
