//! A picture of a pool over time: how much of it was reserved, and where.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use crate::duration::show;
use crate::series::{Sample, Series};

/// Measures, in units of the picture.
const WIDTH: usize = 960;
const LEFT: usize = 150;
const RIGHT: usize = 20;
const TOP: usize = 56;
const CHART: usize = 160;
const GAP: usize = 44;
const MAP: usize = 384;
const BOTTOM: usize = 60;

/// Columns of the map: more than one sample may fall into one.
const COLUMNS: usize = 160;

/// From how much percent on a row has which shade: none, some, and so on up to
/// all of it.
const SHADES: [u8; 6] = [0, 1, 25, 50, 75, 100];

/// Colours by name, for light and for dark surroundings. The shades go from
/// pale to strong in both.
const STYLE: &str = "<style>
svg{background:#fff;color:#1b1f24;font:13px system-ui,sans-serif}
text{fill:currentColor}.small{font-size:11px}.title{font-size:16px;font-weight:600}
.axis{stroke:currentColor;stroke-opacity:.25;fill:none}
.reserved{fill:#2f6fb3;fill-opacity:.35;stroke:#2f6fb3}.stale{fill:#b35c00;fill-opacity:.55;stroke:#b35c00}
.failures{fill:none;stroke:#a11d33;stroke-dasharray:5 3;stroke-width:1.5}
.s0{fill:#eef1f4}.s1{fill:#c6dbef}.s2{fill:#9ecae1}.s3{fill:#6baed6}.s4{fill:#3182bd}.s5{fill:#08519c}
@media (prefers-color-scheme:dark){svg{background:#14171b;color:#e3e7eb}
.reserved{fill:#6cb0f2;stroke:#6cb0f2}.stale{fill:#f0a34a;stroke:#f0a34a}.failures{stroke:#ff7b8f}
.s0{fill:#22272e}.s1{fill:#1f3a57}.s2{fill:#27527d}.s3{fill:#3474ad}.s4{fill:#559bd8}.s5{fill:#a9d3fb}}
</style>";

/// Draws it. `firsts` are the first addresses of the map's rows.
pub(crate) fn draw(title: &str, firsts: &[String], series: &Series, pool: Option<u128>) -> String {
    let height = TOP + CHART + GAP + MAP + BOTTOM;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-labelledby=\"title\">\n{STYLE}\n"
    );
    // OK because writing to a string cannot fail.
    let _ = write(&mut out, title, firsts, series, pool);
    out
}

fn write(
    out: &mut String,
    title: &str,
    firsts: &[String],
    series: &Series,
    pool: Option<u128>,
) -> core::fmt::Result {
    let title = match title {
        "" => "A pool over time",
        title => title,
    };
    writeln!(
        out,
        "<title id=\"title\">{}</title>\n<text class=\"title\" x=\"{LEFT}\" y=\"24\">{}</text>",
        escape(title),
        escape(title)
    )?;
    let Some(last) = series.samples.last() else {
        return writeln!(
            out,
            "<text x=\"{LEFT}\" y=\"48\">No operations.</text>\n</svg>"
        );
    };
    chart(out, series, last, pool)?;
    map(out, firsts, series)?;
    writeln!(
        out,
        "<text class=\"small\" x=\"{LEFT}\" y=\"{}\">{} {} in {}; time goes from left to right, by operations</text>\n</svg>",
        TOP + CHART + GAP + MAP + 46,
        last.operation,
        match last.operation {
            1 => "operation",
            _ => "operations",
        },
        show(last.ms),
    )
}

/// How much was reserved, and how much of that stale; and failures.
fn chart(
    out: &mut String,
    series: &Series,
    last: &Sample,
    pool: Option<u128>,
) -> core::fmt::Result {
    let most = series.samples.iter().map(|sample| sample.reserved).max();
    let most = most.unwrap_or(0).max(1);
    let failures = last.failures.max(1);
    let x = |sample: &Sample| across(sample, last);
    let y = |value: u64, of: u64| TOP as u64 + CHART as u64 - value * CHART as u64 / of;
    for (class, value) in [
        ("reserved", (|sample| sample.reserved) as fn(&Sample) -> u64),
        ("stale", |sample| sample.stale),
    ] {
        let base = TOP + CHART;
        write!(out, "<path class=\"{class}\" d=\"M{LEFT} {base}")?;
        for sample in &series.samples {
            write!(out, "V{}H{}", y(value(sample), most), x(sample))?;
        }
        writeln!(out, "V{base}Z\"/>")?;
    }
    if last.failures > 0 {
        write!(out, "<path class=\"failures\" d=\"M{LEFT} {}", TOP + CHART)?;
        for sample in &series.samples {
            write!(out, "V{}H{}", y(sample.failures, failures), x(sample))?;
        }
        writeln!(out, "\"/>")?;
    }
    writeln!(
        out,
        "<path class=\"axis\" d=\"M{LEFT} {TOP}V{}H{}\"/>",
        TOP + CHART,
        WIDTH - RIGHT
    )?;
    let label = |out: &mut String, y: usize, text: &str| {
        writeln!(
            out,
            "<text class=\"small\" text-anchor=\"end\" x=\"{}\" y=\"{y}\">{text}</text>",
            LEFT - 8
        )
    };
    label(out, TOP + 10, &format!("{most} reserved"))?;
    if let Some(pool) = pool {
        label(out, TOP + 26, &format!("of {pool}"))?;
    }
    if last.failures > 0 {
        label(out, TOP + 42, &format!("{} failed", last.failures))?;
    }
    label(out, TOP + CHART, "0")?;
    legend(out)
}

fn legend(out: &mut String) -> core::fmt::Result {
    let mut at = LEFT;
    for (class, text) in [
        ("reserved", "reserved"),
        ("stale", "of those: stale, their containers are gone"),
        ("failures", "failures so far (to a scale of their own)"),
    ] {
        writeln!(
            out,
            "<path class=\"{class}\" d=\"M{at} 38h14v8h-14z\"/><text class=\"small\" x=\"{}\" y=\"46\">{text}</text>",
            at + 20
        )?;
        at += 40 + text.len() * 6;
    }
    Ok(())
}

/// Where the step of a sample ends: it begins where that of the one before
/// does.
fn across(sample: &Sample, last: &Sample) -> u64 {
    let width = (WIDTH - LEFT - RIGHT) as u64;
    LEFT as u64 + u64::from(sample.operation) * width / u64::from(last.operation).max(1)
}

/// Which part of the pool was reserved when: a path for each shade.
fn map(out: &mut String, firsts: &[String], series: &Series) -> core::fmt::Result {
    if firsts.is_empty() {
        return Ok(());
    }
    let top = TOP + CHART + GAP;
    let columns = columns(series);
    let width = WIDTH - LEFT - RIGHT;
    let edge = |column: usize| LEFT + column * width / columns.len().max(1);
    let line = |row: usize| top + row * MAP / firsts.len();
    for (shade, _) in SHADES.iter().enumerate() {
        write!(out, "<path class=\"s{shade}\" d=\"")?;
        for row in 0..firsts.len() {
            let height = line(row + 1) - line(row);
            for (from, to) in runs(&columns, row, shade) {
                let (x, width) = (edge(from), edge(to) - edge(from));
                write!(out, "M{x} {}h{width}v{height}h-{width}z", line(row))?;
            }
        }
        writeln!(out, "\"/>")?;
    }
    // As many labels as can be read.
    let step = firsts.len().div_ceil(16);
    for (row, first) in firsts.iter().enumerate().step_by(step) {
        writeln!(
            out,
            "<text class=\"small\" text-anchor=\"end\" x=\"{}\" y=\"{}\">{first}</text>",
            LEFT - 8,
            line(row) + 10
        )?;
    }
    let mut at = LEFT;
    for (shade, text) in ["free", "some", "from 25 %", "from 50 %", "from 75 %", "all"]
        .iter()
        .enumerate()
    {
        let y = top + MAP + 12;
        writeln!(
            out,
            "<path class=\"s{shade}\" d=\"M{at} {y}h14v10h-14z\"/><text class=\"small\" x=\"{}\" y=\"{}\">{text}</text>",
            at + 20,
            y + 9
        )?;
        at += 90;
    }
    Ok(())
}

/// The samples that are drawn, not too many of them.
fn columns(series: &Series) -> Vec<&Vec<u8>> {
    let step = series.rows.len().div_ceil(COLUMNS).max(1);
    let last = series.rows.len().saturating_sub(1);
    let columns = series.rows.iter().enumerate();
    columns
        .filter(|(n, _)| (n + 1).is_multiple_of(step) || *n == last)
        .map(|(_, rows)| rows)
        .collect()
}

/// Where a row has a shade: from a column to another, exclusive.
fn runs(columns: &[&Vec<u8>], row: usize, shade: usize) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (column, rows) in columns.iter().enumerate() {
        let share = rows.get(row).copied().unwrap_or(0);
        if SHADES.iter().rposition(|from| share >= *from) != Some(shade) {
            continue;
        }
        match runs.last_mut() {
            Some((_, end)) if *end == column => *end = column + 1,
            _ => runs.push((column, column + 1)),
        }
    }
    runs
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no way to write them.
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn texts_of_others_stay_texts() {
        let picture = draw("<script>&\u{1b}", &[], &Series::default(), None);
        assert!(picture.contains("&lt;script&gt;&amp; <"), "{picture}");
        assert!(picture.ends_with("</svg>\n"));
    }

    #[test]
    fn what_lies_side_by_side_is_one_piece() {
        let rows = [vec![0], vec![1], vec![24], vec![25], vec![3], vec![100]];
        let columns: Vec<&Vec<u8>> = rows.iter().collect();
        assert_eq!(runs(&columns, 0, 0), [(0, 1)]);
        assert_eq!(runs(&columns, 0, 1), [(1, 3), (4, 5)]);
        assert_eq!(runs(&columns, 0, 2), [(3, 4)]);
        assert_eq!(runs(&columns, 0, 5), [(5, 6)]);
    }
}
