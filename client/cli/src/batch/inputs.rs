//! Inputs, one per line, from files and standard input: bounded in length and read only on demand.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::sync::Arc;

use crate::answer::{Ask, MAX_INPUT, Origin};
use crate::console::input::bounded_line;
use crate::console::output::Failure;

/// The byte order mark in UTF-8, which a file may begin with.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Why a file that begins like this does not hold inputs: it is binary.
pub(crate) fn refusal(begin: &[u8]) -> Option<&'static str> {
    let begin = begin.get(..PEEKED).unwrap_or(begin);
    let has = |octets: &[u8]| begin.iter().any(|octet| octets.contains(octet));
    if has(b"\x1D\x1E\x1F") {
        return Some("it holds MARC records, not one input a line; z3950 convert shows them");
    }
    has(b"\0").then_some("it is binary, not text with one input a line")
}

/// How much of a file is checked for being text.
const PEEKED: usize = 4096;

/// Inputs from several sources, one after the other.
///
/// Lines are trimmed; blank lines and those that begin with `#` are skipped. A read error ends all inputs: continuing with the
/// next source would give its inputs other positions than in another run.
#[derive(Default)]
pub(crate) struct Inputs {
    given: VecDeque<Vec<u8>>,
    sources: VecDeque<Source>,
    /// The number of inputs so far.
    count: u64,
}

struct Source {
    name: Arc<str>,
    /// Lines read so far.
    read: u64,
    lines: Box<dyn BufRead + Send>,
    is_new: bool,
}

impl Inputs {
    /// Inputs of the command line, which come first and are not trimmed.
    pub(crate) fn given(texts: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self {
            given: texts.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Adds the lines of a file after all others.
    pub(crate) fn add(&mut self, name: impl Into<String>, lines: impl BufRead + Send + 'static) {
        self.sources.push_back(Source {
            name: name.into().into(),
            read: 0,
            lines: Box::new(lines),
            is_new: true,
        });
    }
}

impl Inputs {
    fn ask(&mut self, input: &[u8], origin: Option<Origin>) -> Ask {
        self.count += 1;
        Ask {
            position: self.count,
            target: 0,
            input: input.get(..MAX_INPUT).unwrap_or(input).into(),
            is_cut: input.len() > MAX_INPUT,
            origin,
        }
    }
}

impl Iterator for Inputs {
    /// An input for the first target.
    type Item = Result<Ask, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(given) = self.given.pop_front() {
            return Some(Ok(self.ask(&given, None)));
        }
        loop {
            let source = self.sources.front_mut()?;
            match source.line() {
                Ok(None) => drop(self.sources.pop_front()),
                Ok(Some(line)) => match line.trim_ascii() {
                    [] | [b'#', ..] => {}
                    input => {
                        let origin = Origin {
                            name: Arc::clone(&source.name),
                            line: source.read,
                        };
                        return Some(Ok(self.ask(input, Some(origin))));
                    }
                },
                Err(error) => {
                    let failure = Failure::input(&source.name, &error);
                    self.sources.clear();
                    return Some(Err(failure));
                }
            }
        }
    }
}

impl Source {
    /// The next line, or just enough of a line that is too long to detect that.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(mut line) = bounded_line(&mut self.lines, MAX_INPUT)? else {
            return Ok(None);
        };
        self.read += 1;
        if self.is_new
            && let Some(words) = refusal(&line)
        {
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        if std::mem::take(&mut self.is_new) && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(Some(line))
    }
}

/// Each input for each target, in order.
pub(crate) fn asks(
    inputs: Inputs,
    targets: usize,
) -> impl Iterator<Item = Result<Ask, Failure>> + Send {
    let at_all = move |ask: Ask| {
        (0..targets.max(1)).map(move |target| {
            let ask = ask.clone();
            Ok(Ask { target, ..ask })
        })
    };
    inputs.flat_map(move |ask| {
        let (ask, failure) = match ask {
            Ok(ask) => (Some(ask), None),
            Err(failure) => (None, Some(Err(failure))),
        };
        ask.into_iter().flat_map(at_all).chain(failure)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn binary_files_are_refused() {
        let marc = b"00123nam a2200061 a 4500001000400000\x1Eid1\x1E\x1D";
        for (begin, words) in [
            (&marc[..], "MARC records"),
            (b"\x7FELF\x02\x00\x00", "binary"),
            (b"isbn:0306406152\n", ""),
            ("b\u{fc}cher\n\tx\r\n".as_bytes(), ""),
            (b"\xFF\xFE", ""),
        ] {
            let found = refusal(begin).unwrap_or_default();
            assert_eq!(found.is_empty(), words.is_empty(), "{found}");
            assert!(found.contains(words), "{found}");
            let mut inputs = Inputs::default();
            inputs.add("it", io::Cursor::new(begin));
            let first = inputs.next().expect("a line");
            assert_eq!(first.is_err(), !words.is_empty());
        }
    }

    fn texts(asks: impl Iterator<Item = Result<Ask, Failure>>) -> Vec<String> {
        asks.map(|ask| match ask {
            Ok(ask) => format!("{} {} {ask}", ask.position, ask.target),
            Err(error) => error.to_string(),
        })
        .collect()
    }

    #[test]
    fn lines_are_inputs_by_position() {
        for (given, files, targets, expected) in [
            (&[][..], &[][..], 1, &[][..]),
            (
                &["# as it is", " b "],
                &["\u{feff}c\r\n\r\n  # comment\n c\t\n", "last"],
                1,
                &["1 0 # as it is", "2 0  b ", "3 0 c", "4 0 c", "5 0 last"],
            ),
            (
                &[],
                &["\n\n", "#\n", "a\nb"],
                2,
                &["1 0 a", "1 1 a", "2 0 b", "2 1 b"],
            ),
        ] {
            let given = given.iter().map(|text| text.as_bytes().to_vec());
            let mut inputs = Inputs::given(given);
            for (number, file) in files.iter().enumerate() {
                inputs.add(format!("file {number}"), io::Cursor::new(*file));
            }
            assert_eq!(texts(asks(inputs, targets)), expected);
        }
    }

    #[test]
    fn long_lines_are_cut_and_later_lines_are_found() {
        for (length, is_cut) in [
            (MAX_INPUT - 1, false),
            (MAX_INPUT, false),
            (MAX_INPUT + 1, true),
            (MAX_INPUT + 2, true),
            (3 * MAX_INPUT, true),
        ] {
            for end in ["\n", "\r\n"] {
                let mut inputs = Inputs::default();
                let text = format!("{}{end}next", "x".repeat(length));
                inputs.add("file", io::Cursor::new(text));
                let found: Vec<_> = inputs.map(|input| input.expect("in memory")).collect();
                let shown: Vec<_> = found
                    .iter()
                    .map(|ask| (ask.input.len(), ask.is_cut))
                    .collect();
                assert_eq!(
                    shown,
                    [(length.min(MAX_INPUT), is_cut), (4, false)],
                    "{length}"
                );
            }
        }
    }

    #[test]
    fn a_read_error_ends_all_inputs() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let mut inputs = Inputs::default();
        inputs.add("first", io::Cursor::new("a\n"));
        inputs.add("second", io::BufReader::new(Broken));
        inputs.add("third", io::Cursor::new("c\n"));
        assert_eq!(
            texts(asks(inputs, 1)),
            ["1 0 a", "cannot read second: broken"]
        );
    }
}
