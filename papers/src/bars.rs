//! Horizontal bars with a label and a value each, as SVG: for what has no axis to run along.

use super::plot::register_font;
use anyhow::Result;
use plotters::prelude::*;
use verbena_lab::table::format_value;

/// A picture of bars.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    /// The text above the bars.
    pub title: String,
    /// The unit of the values.
    pub unit: String,
    /// The bars, from the top; one at least.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// The text beside the bar.
    pub label: String,
    /// The length of the bar, not negative.
    pub value: f64,
    /// Bars of one group have one color.
    pub group: usize,
}

/// Height of a bar with its gap, and of all else, in pixels.
const BAR: u32 = 24;
const AROUND: u32 = 110;
/// Letters of a label at most, and pixels that each takes.
const LETTERS_MAX: usize = 46;
const LETTER: u32 = 7;

/// Returns the picture, `width` pixels wide.
///
/// # Errors
/// It cannot be drawn.
pub(crate) fn svg(picture: &Bars, width: u32) -> Result<String> {
    register_font()?;
    let mut text = String::new();
    {
        let height = AROUND + BAR * picture.bars.len().max(1) as u32;
        let area = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        area.fill(&WHITE)?;
        draw(&area, picture)?;
        area.present()?;
    }
    Ok(text)
}

fn draw(area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>, picture: &Bars) -> Result<()> {
    let count = picture.bars.len();
    let longest = picture.bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let letters = picture.bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
    let mut chart = ChartBuilder::on(area)
        .caption(&picture.title, ("sans-serif", 17))
        .margin(10)
        .margin_right(30)
        .x_label_area_size(42)
        .y_label_area_size(letters.min(LETTERS_MAX) as u32 * LETTER + 16)
        .build_cartesian_2d(
            0.0..longest.max(f64::MIN_POSITIVE) * 1.18,
            (0..count.max(2) - 1).into_segmented(),
        )?;
    // Segments count the end of their range too, and one alone has no label. The first bar is at
    // the top.
    let at = |index: usize| count - 1 - index;
    let label = |value: &SegmentValue<usize>| match value {
        SegmentValue::CenterOf(index) if *index < count => short(&picture.bars[at(*index)].label),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .x_desc(&picture.unit)
        .y_labels(count)
        .x_labels(6)
        .label_style(("sans-serif", 13))
        .x_label_formatter(&|&x| format_value(x))
        .y_label_formatter(&label)
        .draw()?;
    for (index, bar) in picture.bars.iter().enumerate() {
        let color = Palette99::pick(bar.group);
        let ends = [(0.0, SegmentValue::Exact(at(index))), (bar.value, SegmentValue::Exact(at(index) + 1))];
        let mut shape = Rectangle::new(ends, color.filled());
        shape.set_margin(4, 4, 0, 0);
        chart.draw_series([shape])?;
        let place = (bar.value, SegmentValue::CenterOf(at(index)));
        let number =
            EmptyElement::at(place) + Text::new(format_value(bar.value), (5, -6), ("sans-serif", 13));
        chart.draw_series([number])?;
    }
    Ok(())
}

fn short(label: &str) -> String {
    match label.chars().count() {
        count if count > LETTERS_MAX => label.chars().take(LETTERS_MAX - 1).chain(['…']).collect(),
        _ => label.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bar_has_its_label_and_its_value() {
        let bar = |label: &str, value| Bar { label: label.into(), value, group: 0 };
        let picture = Bars {
            title: "t".into(),
            unit: "us".into(),
            bars: vec![bar("basic", 18.6), bar("piggyback", 7.4)],
        };
        let text = svg(&picture, 600).expect("svg");
        for word in ["basic", "piggyback", "18.6", "7.40", "us"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        let one = Bars { bars: vec![bar("alone", 1.0)], ..picture };
        assert!(svg(&one, 600).expect("svg").contains("alone"));
    }
}
