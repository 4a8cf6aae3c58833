//! Charts as SVG: panels side by side, each with lines over a logarithmic axis or with groups of
//! bars. The vertical axis is logarithmic too.

use std::fmt::Write;

/// Pixels of a chart across.
const WIDTH: f64 = 960.0;
/// Pixels of a panel up.
const HEIGHT: f64 = 280.0;
/// Pixels above the panels, for the legend.
const LEGEND: f64 = 40.0;
/// Pixels around the plot of a panel: left, right, above, below.
const MARGINS: (f64, f64, f64, f64) = (56.0, 12.0, 34.0, 34.0);
/// Colors that color-blind readers tell apart (after M. Okabe and K. Ito), in the order of the
/// series.
const COLOURS: [&str; 4] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"];

/// A plot.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    /// The heading.
    pub title: String,
    /// Places along the horizontal axis, with their labels.
    pub places: Vec<(f64, String)>,
    /// The values of each series, one at each place; none where nothing was measured.
    pub values: Vec<Vec<Option<f64>>>,
    /// Lines, or groups of bars.
    pub form: Form,
}

/// The ways to draw values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A line for each series; the places are positions.
    Lines,
    /// A group of bars at each place; the places are only counted.
    Bars,
}

/// Draws the panels, `columns` in a row, with a legend of the series.
pub(super) fn chart(series: &[String], panels: &[Panel], columns: usize) -> String {
    let rows = panels.len().div_ceil(columns);
    let height = LEGEND + rows as f64 * HEIGHT;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (at, name) in series.iter().enumerate() {
        let x = MARGINS.0 + at as f64 * 130.0;
        let _ = writeln!(out, "<rect x=\"{x}\" y=\"14\" width=\"14\" height=\"14\" fill=\"{}\"/>", color(at));
        let _ = writeln!(out, "<text x=\"{}\" y=\"26\">{}</text>", x + 20.0, escaped(name));
    }
    let width = WIDTH / columns as f64;
    for (at, panel) in panels.iter().enumerate() {
        let corner = ((at % columns) as f64 * width, LEGEND + (at / columns) as f64 * HEIGHT);
        Plot::new(panel, corner, width).draw(&mut out);
    }
    out.push_str("</svg>\n");
    out
}

fn color(series: usize) -> &'static str {
    COLOURS[series % COLOURS.len()]
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A panel with its place in the picture and its scales.
struct Plot<'a> {
    panel: &'a Panel,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// The ends of the vertical axis.
    range: (f64, f64),
}

impl Plot<'_> {
    fn new(panel: &Panel, (x, y): (f64, f64), width: f64) -> Plot<'_> {
        let (left, right, top, bottom) =
            (x + MARGINS.0, x + width - MARGINS.1, y + MARGINS.2, y + HEIGHT - MARGINS.3);
        Plot { panel, left, right, top, bottom, range: range(panel) }
    }

    fn draw(&self, out: &mut String) {
        let title = escaped(&self.panel.title);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-weight=\"bold\">{title}</text>",
            self.left,
            self.top - 12.0
        );
        for tick in ticks(self.range) {
            let (left, right, y) = (self.left, self.right, self.up(tick));
            let _ = writeln!(
                out,
                "<line x1=\"{left:.1}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>"
            );
            let (x, y) = (left - 6.0, y + 4.0);
            let _ =
                writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>", label(tick));
        }
        for (at, (_, label)) in self.panel.places.iter().enumerate() {
            let (x, y) = (self.along(at), self.bottom + 18.0);
            let label = escaped(label);
            let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{label}</text>");
        }
        match self.panel.form {
            Form::Lines => self.lines(out),
            Form::Bars => self.bars(out),
        }
    }

    /// The first series is drawn last, and thicker.
    fn lines(&self, out: &mut String) {
        for (series, values) in self.panel.values.iter().enumerate().rev() {
            let points = values.iter().enumerate();
            let points: Vec<String> = points
                .filter_map(|(at, value)| Some(format!("{:.1},{:.1}", self.along(at), self.up((*value)?))))
                .collect();
            let (color, width) = (color(series), if series == 0 { 3 } else { 2 });
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\"/>",
                points.join(" ")
            );
            for (x, y) in points.iter().filter_map(|point| point.split_once(',')) {
                let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{width}\" fill=\"{color}\"/>");
            }
        }
    }

    /// A value that is missing is a cross.
    fn bars(&self, out: &mut String) {
        let series = self.panel.values.len();
        let group = (self.right - self.left) / self.panel.places.len().max(1) as f64 * 0.8;
        let width = group / series.max(1) as f64;
        for (at, _) in self.panel.places.iter().enumerate() {
            for (number, values) in self.panel.values.iter().enumerate() {
                let x = self.along(at) - group / 2.0 + number as f64 * width;
                let color = color(number);
                let _ = match values.get(at).copied().flatten() {
                    Some(value) => writeln!(
                        out,
                        "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{color}\"/>",
                        self.up(value),
                        width * 0.9,
                        (self.bottom - self.up(value)).max(1.0)
                    ),
                    None => writeln!(
                        out,
                        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"{color}\">×</text>",
                        x + width / 2.0,
                        self.bottom - 4.0
                    ),
                };
            }
        }
    }

    /// Returns where a place is, in pixels from the left.
    fn along(&self, at: usize) -> f64 {
        let places = &self.panel.places;
        let width = self.right - self.left;
        match self.panel.form {
            Form::Bars => self.left + width * (at as f64 + 0.5) / places.len() as f64,
            Form::Lines => {
                let (first, last) = (places[0].0.ln(), places[places.len() - 1].0.ln());
                let part = (places[at].0.ln() - first) / (last - first).max(f64::EPSILON);
                self.left + 16.0 + (width - 32.0) * part
            }
        }
    }

    /// Returns where a value is, in pixels from above.
    fn up(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        let part = (value / low).ln() / (high / low).ln();
        self.bottom - (self.bottom - self.top) * part.clamp(0.0, 1.0)
    }
}

/// The decades that hold all values, with room below the least one for its bar.
fn range(panel: &Panel) -> (f64, f64) {
    let values = panel.values.iter().flatten().flatten().copied().filter(|value| *value > 0.0);
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return (1.0, 10.0);
    }
    (10.0_f64.powf((low / 1.5).log10().floor()), 10.0_f64.powf(high.log10().ceil()))
}

/// A power of ten, from a thousand on with a prefix.
fn label(tick: f64) -> String {
    match tick {
        tick if tick >= 1e6 => format!("{}M", tick / 1e6),
        tick if tick >= 1e3 => format!("{}k", tick / 1e3),
        tick => tick.to_string(),
    }
}

/// The powers of ten within the range.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let (first, last) = (low.log10().round() as i32, high.log10().round() as i32);
    (first..=last).map(|power| 10.0_f64.powi(power)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(form: Form) -> Panel {
        let places = [8.0, 64.0, 1024.0].map(|size| (size, format!("{size} <B>"))).to_vec();
        let values = vec![vec![Some(0.1), Some(1.0), Some(10.0)], vec![Some(0.5), None, Some(20.0)]];
        Panel { title: "latency".into(), places, values, form }
    }

    #[test]
    fn a_line_has_a_point_for_each_value() {
        let svg = chart(&["a".into(), "b".into()], &[panel(Form::Lines)], 1);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert_eq!(svg.matches("<circle").count(), 5);
        assert!(svg.contains("8 &lt;B&gt;") && svg.ends_with("</svg>\n"), "{svg}");
    }

    #[test]
    fn a_missing_bar_is_a_cross() {
        let svg = chart(&["a".into(), "b".into()], &[panel(Form::Bars)], 1);
        assert_eq!(svg.matches("×").count(), 1);
        // The background and two in the legend beside the bars.
        assert_eq!(svg.matches("<rect").count(), 3 + 5);
    }

    #[test]
    fn longer_is_higher_and_all_is_within() {
        let panel = panel(Form::Lines);
        let plot = Plot::new(&panel, (0.0, 0.0), WIDTH);
        assert_eq!(plot.range, (0.01, 100.0));
        assert!(plot.up(0.1) > plot.up(1.0) && plot.up(1000.0) >= plot.top && plot.up(0.0) <= plot.bottom);
        assert!(plot.along(0) < plot.along(1) && plot.along(2) <= plot.right);
        assert_eq!(ticks((0.01, 100.0)), [0.01, 0.1, 1.0, 10.0, 100.0]);
        assert_eq!([0.1, 10.0, 1e4, 1e6].map(label), ["0.1", "10", "10k", "1M"]);
    }

    #[test]
    fn nothing_measured_is_an_empty_plot() {
        let mut empty = panel(Form::Bars);
        empty.values = vec![vec![None; 3]; 2];
        assert_eq!(range(&empty), (1.0, 10.0));
        assert_eq!(chart(&["a".into()], &[empty], 1).matches("×").count(), 6);
    }
}
