//! The books of the demo catalogue, to which duplicates and near misses have been added. A duplicate describes a book in the
//! catalogue in the way another catalogue might describe it; a near miss is a similar but different book. Tests use these records
//! to measure the rule that recognizes records for the same edition.

use unicode_normalization::UnicodeNormalization;
use z3950_marc::{MarcRecord, mrk};

/// Records, each with the number of the edition that it describes.
pub struct PlantedRecords {
    /// The records: first the records of the catalogue, then the duplicates, then the near misses.
    pub records: Vec<MarcRecord>,
    /// For each record, the number of its edition.
    pub editions: Vec<usize>,
    /// For each record, the name of the change by which it differs from a record of the demo catalogue; empty for the records of
    /// the catalogue.
    pub changes: Vec<&'static str>,
}

/// A record as text, with one line per field.
type Lines = Vec<String>;

/// A change to a record, with its name.
type Change = (&'static str, fn(&mut Lines));

/// The changes that create duplicates: differences between catalogues in the description of the same edition.
const DUPLICATES: [Change; 14] = [
    ("the same text", |_| ()),
    ("no punctuation", without_punctuation),
    ("capitals", |lines| {
        on(lines, "245", |text| {
            text.to_uppercase()
                .replace("$A", "$a")
                .replace("$B", "$b")
                .replace("$C", "$c")
        })
    }),
    ("author without years, initials", initials),
    ("author in direct order", direct_order),
    ("decomposed accents", |lines| {
        lines
            .iter_mut()
            .for_each(|line| *line = line.nfd().collect())
    }),
    ("publisher abbreviated, no place", short_publisher),
    ("year in brackets", |lines| {
        on(lines, "260", |text| {
            text.replace("$c", "$cc").replace("$cc", "$c[c") + "]"
        })
    }),
    ("no remainder of the title", |lines| {
        on(lines, "245", |text| without(&text, "b"))
    }),
    ("a slip in the title", slip),
    ("title, author and year only", |lines| {
        keep(lines, &["LDR", "001", "100", "110", "245", "260", "264"])
    }),
    ("ISBN of ten digits", isbn_10),
    ("no fixed field", |lines| {
        lines.retain(|line| !line.starts_with("=008"))
    }),
    ("first edition stated", |lines| {
        lines.push(r"=250  \\$a1st ed.".to_owned())
    }),
];

/// The changes that create near misses: they turn a record into a similar record for a different edition or work.
const NEAR_MISSES: [Change; 9] = [
    ("second edition", |lines| {
        lines.push(r"=250  \\$a2nd ed., rev.".to_owned())
    }),
    ("later year", |lines| on_years(lines, 20)),
    ("translation", |lines| on(lines, "008", other_language)),
    ("sound recording", |lines| {
        on(lines, "LDR", |text| text.replacen("nam", "nim", 1))
    }),
    ("online", |lines| {
        lines.retain(|line| !line.starts_with("=338"));
        lines.push(r"=338  \\$aonline resource$bcr$2rdacarrier".to_owned());
    }),
    ("second volume", |lines| {
        on(lines, "245", |text| text + "$nVol. 2.")
    }),
    ("another author", |lines| another_author(lines)),
    ("another title", |lines| {
        on(lines, "245", |_| {
            "=245  10$aCollected letters and essays.".to_owned()
        })
    }),
    ("another publisher", |lines| {
        for tag in ["260", "264"] {
            on(lines, tag, |text| {
                format!("{}$bQuarto Zenith,", without(&text, "b"))
            });
        }
    }),
];

/// Returns the demo catalogue with these numbers of duplicates and near misses.
///
/// # Panics
/// Panics if a changed record is not well-formed.
pub fn planted(duplicates: usize, near_misses: usize) -> PlantedRecords {
    let text = include_str!("../../server/src/memory/demo/books.mrk");
    let demo: Vec<Lines> = text
        .split("\n\n")
        .map(lines)
        .filter(|lines| !lines.is_empty())
        .collect();
    let mut planted = PlantedRecords {
        records: Vec::new(),
        editions: Vec::new(),
        changes: Vec::new(),
    };
    for (edition, lines) in demo.iter().enumerate() {
        planted.add(lines, edition, "");
    }
    // If the step has no divisor in common with the number of records, each record is chosen once before any record is chosen
    // again.
    let chosen = |number: usize, step: usize| number * step % demo.len();
    for number in 0..duplicates {
        let edition = chosen(number, 101);
        let (name, change) = DUPLICATES[number % DUPLICATES.len()];
        planted.add(
            &changed(&demo[edition], &format!("d{number}"), change),
            edition,
            name,
        );
    }
    for number in 0..near_misses {
        let like = chosen(number, 53);
        let (name, change) = NEAR_MISSES[number % NEAR_MISSES.len()];
        let mut lines = changed(&demo[like], &format!("n{number}"), change);
        // A different edition has a different ISBN or none, so the ISBN is removed.
        lines.retain(|line| !line.starts_with("=020"));
        planted.add(&lines, demo.len() + number, name);
    }
    planted
}

impl PlantedRecords {
    fn add(&mut self, lines: &Lines, edition: usize, change: &'static str) {
        let text = lines.join("\n");
        let record = mrk::parse_all(&text).expect("a record").remove(0);
        self.records.push(record);
        self.editions.push(edition);
        self.changes.push(change);
    }

    /// Returns the number of pairs of records that describe the same edition.
    pub fn pairs(&self) -> usize {
        let numbers = 0..self.editions.len();
        numbers
            .map(|later| {
                self.editions[..later]
                    .iter()
                    .filter(|one| **one == self.editions[later])
                    .count()
            })
            .sum()
    }
}

/// The result of comparing clusters with the real editions: the correct, wrong and missing pairs of records. A pair consists of
/// two indexes of records.
#[derive(Debug, Default)]
pub struct Judged {
    /// The number of merged pairs whose records describe the same edition.
    pub right: usize,
    /// The merged pairs whose records describe different editions.
    pub wrong: Vec<(usize, usize)>,
    /// The pairs that describe the same edition but are not merged.
    pub missing: Vec<(usize, usize)>,
}

impl Judged {
    /// Compares clusters of record numbers with the real editions of the records.
    pub fn new(planted: &PlantedRecords, clusters: &[Vec<usize>]) -> Self {
        let mut cluster_of = vec![usize::MAX; planted.records.len()];
        for (number, cluster) in clusters.iter().enumerate() {
            cluster
                .iter()
                .for_each(|record| cluster_of[*record] = number);
        }
        let mut judged = Self::default();
        for later in 0..cluster_of.len() {
            for one in 0..later {
                let is_one = planted.editions[one] == planted.editions[later];
                match (cluster_of[one] == cluster_of[later], is_one) {
                    (true, true) => judged.right += 1,
                    (true, false) => judged.wrong.push((one, later)),
                    (false, true) => judged.missing.push((one, later)),
                    (false, false) => {}
                }
            }
        }
        judged
    }

    /// Returns the share of merged pairs that are correct.
    pub fn precision(&self) -> f64 {
        self.right as f64 / (self.right + self.wrong.len()) as f64
    }

    /// Returns the share of the pairs describing the same edition that are merged.
    pub fn recall(&self) -> f64 {
        self.right as f64 / (self.right + self.missing.len()) as f64
    }
}

fn lines(record: &str) -> Lines {
    record
        .lines()
        .filter(|line| line.starts_with('='))
        .map(str::to_owned)
        .collect()
}

/// Changes a record so that it looks like a record from another catalogue: replaces the control number, removes notes and links,
/// and applies the given change.
fn changed(lines: &Lines, docid: &str, change: fn(&mut Lines)) -> Lines {
    let mut lines = lines.clone();
    on(&mut lines, "001", |_| format!("=001  {docid}"));
    lines.retain(|line| {
        !["=040", "=500", "=520", "=856"]
            .iter()
            .any(|tag| line.starts_with(tag))
    });
    change(&mut lines);
    lines
}

/// Applies a change to each field with this tag.
fn on(lines: &mut Lines, tag: &str, change: impl Fn(String) -> String) {
    for line in lines.iter_mut().filter(|line| line.get(1..4) == Some(tag)) {
        *line = change(std::mem::take(line));
    }
}

fn keep(lines: &mut Lines, tags: &[&str]) {
    lines.retain(|line| line.get(1..4).is_some_and(|tag| tags.contains(&tag)));
}

/// Returns a field without the subfields that have this code.
fn without(field: &str, code: &str) -> String {
    let kept = field.split('$').enumerate();
    let kept = kept.filter(|(number, subfield)| *number == 0 || !subfield.starts_with(code));
    kept.map(|(_, subfield)| subfield)
        .collect::<Vec<_>>()
        .join("$")
}

fn without_punctuation(lines: &mut Lines) {
    for tag in ["100", "245", "260", "264"] {
        on(lines, tag, |text| {
            let (head, data) = text.split_at(8);
            let data = data
                .split('$')
                .map(|subfield| subfield.trim_end_matches([' ', '/', ':', ';', ',', '.']));
            format!("{head}{}", data.collect::<Vec<_>>().join("$"))
        });
    }
}

/// Splits a personal name into the family name and the other names.
fn name(text: &str) -> Option<(String, Vec<String>)> {
    let name = text
        .split('$')
        .find_map(|subfield| subfield.strip_prefix('a'))?;
    let (family, given) = name.trim_end_matches([',', '.']).split_once(", ")?;
    Some((
        family.to_owned(),
        given.split(' ').map(str::to_owned).collect(),
    ))
}

fn initials(lines: &mut Lines) {
    on(lines, "100", |text| match name(&text) {
        Some((family, given)) => {
            let given: Vec<String> = given
                .iter()
                .filter_map(|name| Some(format!("{}.", name.chars().next()?)))
                .collect();
            format!(r"=100  1\$a{family}, {}", given.join(" "))
        }
        None => without(&text, "d"),
    });
}

fn direct_order(lines: &mut Lines) {
    on(lines, "100", |text| match name(&text) {
        Some((family, given)) => format!(r"=100  0\$a{} {family}", given.join(" ")),
        None => without(&text, "d"),
    });
}

fn short_publisher(lines: &mut Lines) {
    on(lines, "260", |text| {
        let subfields = without(&text, "a");
        let shortened = subfields
            .split('$')
            .map(|subfield| match subfield.strip_prefix('b') {
                Some(publisher) => {
                    let mut words =
                        publisher
                            .split(' ')
                            .map(|word| match word.char_indices().nth(4) {
                                Some((end, _)) => format!("{}.", &word[..end]),
                                None => word.to_owned(),
                            });
                    format!("b{},", words.by_ref().take(3).collect::<Vec<_>>().join(" "))
                }
                None => subfield.to_owned(),
            });
        shortened.collect::<Vec<_>>().join("$")
    });
}

/// Swaps two letters of the title, like a typing error.
fn slip(lines: &mut Lines) {
    on(lines, "245", |text| {
        let mut letters: Vec<char> = text.chars().collect();
        if let Some(at) = (12..letters.len().saturating_sub(1)).find(|at| {
            letters[*at].is_lowercase()
                && letters[at + 1].is_lowercase()
                && letters[*at] != letters[at + 1]
        }) {
            letters.swap(at, at + 1);
        }
        letters.into_iter().collect()
    });
}

fn isbn_10(lines: &mut Lines) {
    on(lines, "020", |text| {
        let digits: String = text
            .chars()
            .skip(8)
            .filter(char::is_ascii_digit)
            .take(13)
            .collect();
        match digits.strip_prefix("978").filter(|rest| rest.len() == 10) {
            Some(rest) => {
                let rest = &rest[..9];
                let sum: u32 = rest
                    .chars()
                    .zip((2..=10).rev())
                    .map(|(digit, weight)| digit.to_digit(10).unwrap_or(0) * weight)
                    .sum();
                let check = match (11 - sum % 11) % 11 {
                    10 => "X".to_owned(),
                    check => check.to_string(),
                };
                format!(r"=020  \\$a{rest}{check} (pbk.)")
            }
            None => text,
        }
    });
}

/// Changes the language in a fixed field.
fn other_language(mut fixed: String) -> String {
    const LANGUAGE: std::ops::Range<usize> = 41..44;
    let other = match fixed.get(LANGUAGE) {
        Some("fre") => "ger",
        _ => "fre",
    };
    fixed.replace_range(LANGUAGE, other);
    fixed
}

/// Adds `later` to the years of publication.
fn on_years(lines: &mut Lines, later: u32) {
    for tag in ["008", "260", "264"] {
        on(lines, tag, |text| {
            let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let year = starts.iter().filter(|at| **at >= 6).find_map(|at| {
                let digits = text.get(*at..*at + 4)?;
                let is_year = digits.chars().all(|digit| digit.is_ascii_digit())
                    && (tag != "008" || *at == 13);
                is_year.then(|| digits.to_owned())
            });
            match year.and_then(|year| Some((year.parse::<u32>().ok()?, year))) {
                Some((number, year)) => text.replace(&year, &(number + later).to_string()),
                None => text,
            }
        });
    }
}

fn another_author(lines: &mut Lines) {
    lines.retain(|line| !["=1", "=7"].iter().any(|tag| line.starts_with(tag)));
    lines.push(r"=100  1\$aQuimby, Zachary.".to_owned());
}
