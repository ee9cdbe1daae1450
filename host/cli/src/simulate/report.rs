//! The summary, for people.

use std::time::Duration;

use wipam_scenario::Summary;

/// The longest bar of the histogram, in characters.
const BAR: u64 = 40;

pub(crate) fn print(title: &str, summary: &Summary, took: Duration) {
    if !title.is_empty() {
        println!("{title}");
    }
    let seconds = took.as_secs_f64();
    println!(
        "{} operations over {}, simulated in {seconds:.1} s ({:.0} a second)\n",
        summary.operations,
        humantime(summary.ms),
        f64::from(summary.operations) / seconds.max(1e-9)
    );
    println!("{:<8} {:>10} {:>10}", "", "done", "failed");
    for command in &summary.commands {
        println!(
            "{:<8} {:>10} {:>10}",
            command.command, command.done, command.failed
        );
    }
    let addresses = &summary.addresses;
    let pool = match &addresses.pool {
        Some(pool) => format!(" of {pool}"),
        None => String::new(),
    };
    println!(
        "\naddresses: {}{pool} reserved, {} of them by containers that are gone; at most {} at a time",
        addresses.reserved, addresses.stale, addresses.most
    );
    println!(
        "given: {} times, {} different ones",
        addresses.given, addresses.distinct
    );
    if let Some(least) = summary.reuse.least {
        println!(
            "given again: {} times; the soonest after {} others, {} after its release",
            summary.reuse.count,
            least.given,
            humantime(least.ms)
        );
        println!("\naddresses given between a release and the return:");
        let most = summary.reuse.histogram.iter().map(|bar| bar.count).max();
        for bar in &summary.reuse.histogram {
            let length = (bar.count * BAR).div_ceil(most.unwrap_or(1).max(1));
            println!(
                "{:>14} {:>10} {}",
                format!("up to {}", bar.up_to),
                bar.count,
                "#".repeat(usize::try_from(length).unwrap_or(0))
            );
        }
    }
    for failure in &summary.errors {
        println!(
            "\nerror {}, {} times, first in operation {}:\n  {}",
            failure.code, failure.count, failure.first, failure.message
        );
    }
}

/// Simulated time, in its two largest units.
fn humantime(ms: u64) -> String {
    let units = [
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1_000),
        ("ms", 1),
    ];
    let mut rest = ms;
    let mut parts = Vec::new();
    for (name, size) in units {
        let count = rest / size;
        rest %= size;
        if count > 0 {
            parts.push(format!("{count} {name}"));
        }
    }
    parts.truncate(2);
    match parts.is_empty() {
        true => "no time".to_owned(),
        false => parts.join(" "),
    }
}
