//! Prints figures of several programs side by side: medians, spread, and the ratio to the first program.

use crate::Effort;

/// A table in Markdown.
pub(crate) struct Table {
    title: String,
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    rounds: usize,
    less_the_last: bool,
}

impl Table {
    /// Creates an empty table.
    pub(crate) fn new(title: &str, heads: &[&str], effort: Effort) -> Self {
        Self {
            title: title.to_owned(),
            heads: heads.iter().map(|head| (*head).to_owned()).collect(),
            rows: Vec::new(),
            rounds: effort.rounds,
            less_the_last: false,
        }
    }

    /// Marks the last server as one that only measures the round trip. Its time is subtracted from the figures of the other
    /// servers.
    pub(crate) fn less_the_last(mut self) -> Self {
        self.less_the_last = true;
        self
    }

    /// Adds a row with the operation, the unit and each server's figures. From the second server on, each figure is followed by a
    /// ratio: the first server's figure divided by this server's figure.
    pub(crate) fn row(&mut self, title: &str, unit: &str, figures: &[Vec<f64>]) {
        let medians: Vec<Option<f64>> = figures.iter().map(|figures| median(figures)).collect();
        let round_trip = if self.less_the_last {
            medians.last().copied().flatten().unwrap_or(0.0)
        } else {
            0.0
        };
        let first = medians.first().copied().flatten();
        let mut cells = vec![format!("{title}, {unit}")];
        for (index, (figures, found)) in figures.iter().zip(&medians).enumerate() {
            let Some(found) = found else {
                cells.push("–".to_owned());
                continue;
            };
            let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
            let most = figures.iter().copied().fold(0.0, f64::max);
            let mut cell = format!("{} ({} to {})", short(*found), short(least), short(most));
            let is_round_trip = self.less_the_last && index + 1 == medians.len();
            if let (true, false, Some(first)) = (index > 0, is_round_trip, first) {
                let ratio = (first - round_trip) / (found - round_trip);
                cell = format!("{cell}; {}", short(ratio));
            }
            cells.push(cell);
        }
        self.rows.push(cells);
    }

    /// Prints the table.
    pub(crate) fn print(&self) {
        println!("\n## {}\n", self.title);
        let runs = match self.rounds {
            1 => "One round.".to_owned(),
            rounds => format!("Medians of {rounds} rounds (least to most)."),
        };
        let first = self.heads.get(1).map_or("", String::as_str);
        println!("{runs} After the semicolon: {first} as a multiple of this one.\n");
        println!("| {} |", self.heads.join(" | "));
        println!("|{}", "---|".repeat(self.heads.len()));
        for row in &self.rows {
            println!("| {} |", row.join(" | "));
        }
    }
}

/// Measures each program in turn, once per round, and returns the figures of each.
pub(crate) fn rounds<C, F>(
    contenders: &[C],
    rounds: usize,
    measure: impl Fn(&C) -> Option<F>,
) -> Vec<Vec<F>> {
    let mut figures: Vec<Vec<F>> = contenders.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (contender, figures) in contenders.iter().zip(&mut figures) {
            figures.extend(measure(contender));
        }
    }
    figures
}

pub(crate) fn median(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// Formats a figure with three significant digits.
pub(crate) fn short(figure: f64) -> String {
    let magnitude = figure.abs();
    match magnitude {
        _ if magnitude >= 100.0 => format!("{figure:.0}"),
        _ if magnitude >= 10.0 => format!("{figure:.1}"),
        _ if magnitude >= 1.0 => format!("{figure:.2}"),
        _ => format!("{figure:.3}"),
    }
}
