//! Detects inputs with the same request as an earlier input. They are not processed again: their lines in the report
//! repeat the outcome of the earlier input and name that input, and the output contains the records only once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};

use z3950::retrieve::OutcomeName;
use z3950_marc::table::SEPARATOR;

use super::report::form::ParsedLine;
use crate::answer::{Answer, Ask, KeyOf};
use crate::console::exit::Exit;
use crate::console::output::Failure;

/// The maximum number of inputs that are remembered. Later inputs are not remembered, so their repeats are processed.
///
/// Each input takes about 100 octets: the hash of its key and its position here, and its outcome and the control
/// numbers of its records in [`EarlierAnswers`], once for each target that is searched separately. All inputs together
/// take about 100 MB.
const MOST: u64 = 1_000_000;

/// An iterator over inputs that marks repeats of an earlier input.
pub(super) struct Repeats<I> {
    inputs: I,
    key_of: Option<KeyOf>,
    /// The position of the first input with each key. A key is represented by two 64-bit keyed hashes, so that nobody
    /// can choose inputs that collide.
    first: HashMap<[u64; 2], u64>,
    hashers: [RandomState; 2],
    most: u64,
}

impl<I> Repeats<I> {
    /// Creates an iterator that marks inputs with the same key as an earlier input; if `key_of` is `None`, no input is
    /// marked.
    pub(super) fn of(inputs: I, key_of: Option<KeyOf>) -> Self {
        Self {
            inputs,
            key_of,
            first: HashMap::new(),
            hashers: [RandomState::new(), RandomState::new()],
            most: MOST,
        }
    }

    /// Returns the position of an earlier input with the same key; `None` if there is none.
    fn earlier(&mut self, ask: &Ask) -> Option<u64> {
        let key = self.key_of.as_ref()?(ask)?;
        let hashes = self.hashers.each_ref().map(|hasher| hasher.hash_one(&key));
        let is_late = ask.position > self.most;
        match self.first.entry(hashes) {
            Entry::Occupied(first) => Some(*first.get()),
            Entry::Vacant(_) if is_late => None,
            Entry::Vacant(place) => {
                place.insert(ask.position);
                None
            }
        }
    }
}

impl<I: Iterator<Item = Result<Ask, Failure>>> Iterator for Repeats<I> {
    type Item = Result<Ask, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut ask = match self.inputs.next()? {
            Ok(ask) => ask,
            Err(failure) => return Some(Err(failure)),
        };
        ask.repeats = self.earlier(&ask);
        Some(Ok(ask))
    }
}

/// The answers to the inputs so far, which are also the answers to their repeats.
#[derive(Debug, Default)]
pub(crate) struct EarlierAnswers {
    /// The answers at each target, in the order of the inputs; `None` if the run has no repeats.
    answers: Option<Vec<EarlierAnswer>>,
    targets: usize,
    /// The names of targets and searches. There are only a few different ones.
    names: Vec<String>,
    /// The number of answers that repeat an earlier answer.
    pub(crate) repeats: u64,
}

/// The part of the first input's answer that its repeats share. The other columns of the report are in the line of that input.
#[derive(Debug, Clone, Default)]
struct EarlierAnswer {
    outcome: OutcomeName,
    exit: Exit,
    hits: Option<u64>,
    /// The control numbers of the records.
    records: Box<str>,
    /// The names of the target that had the records, and of the search that found them.
    target: Option<NameIndex>,
    step: Option<NameIndex>,
}

/// The index of a name in [`EarlierAnswers::names`].
type NameIndex = u16;

impl EarlierAnswers {
    /// Creates an empty list for the answers of a run at this number of targets. If `is_wanted` is false, no answers
    /// are remembered.
    pub(super) fn new(targets: usize, is_wanted: bool) -> Self {
        Self {
            answers: is_wanted.then(Vec::new),
            targets: targets.max(1),
            ..Self::default()
        }
    }

    /// Remembers an answer from an earlier run, read from its report.
    pub(super) fn read(&mut self, ask: &Ask, line: &ParsedLine, outcome: OutcomeName) {
        let names = [line.target.as_deref(), line.step.as_deref()];
        self.keep(ask, names, |[target, step]| EarlierAnswer {
            outcome,
            exit: Exit::of(line.exit),
            hits: line.hits,
            records: line.record.as_deref().unwrap_or_default().into(),
            target,
            step,
        });
    }

    /// Remembers an answer from this run.
    pub(super) fn add(&mut self, ask: &Ask, target: &str, answer: &Answer) {
        let ending = &answer.ending;
        let step = ending.step_name.as_ref().or(ending.step.as_ref());
        let names = [Some(target), step.map(String::as_str)];
        self.keep(ask, names, |[target, step]| EarlierAnswer {
            outcome: ending.outcome,
            exit: answer.exit,
            hits: ending.hits,
            records: answer.records.join(SEPARATOR).into(),
            target,
            step,
        });
    }

    /// Returns the answer to an input that repeats an earlier input; `None` for any other input.
    pub(super) fn answer(&self, ask: &Ask) -> Option<Answer> {
        let first = ask.repeats?;
        let place = self.place(first, ask.target);
        let earlier = self.answers.as_ref()?.get(place)?;
        let mut answer = Answer::default()
            .ended(earlier.outcome)
            .with_hits(earlier.hits)
            .saying(format!("same as input {first}"));
        answer.exit = earlier.exit;
        let named = |index: Option<NameIndex>| self.names.get(usize::from(index?)).cloned();
        answer.ending.target = named(earlier.target);
        answer.ending.step_name = named(earlier.step);
        if !earlier.records.is_empty() {
            answer.records = vec![earlier.records.to_string()];
        }
        Some(answer)
    }

    fn keep(
        &mut self,
        ask: &Ask,
        names: [Option<&str>; 2],
        answer: impl FnOnce([Option<NameIndex>; 2]) -> EarlierAnswer,
    ) {
        if ask.repeats.is_some() {
            self.repeats += 1;
            return;
        }
        let is_kept = self.answers.is_some() && ask.position <= MOST;
        if !is_kept {
            return;
        }
        let names = names.map(|name| self.named(name?));
        let place = self.place(ask.position, ask.target);
        let answers = self.answers.get_or_insert_default();
        if answers.len() <= place {
            answers.resize_with(place + 1, EarlierAnswer::default);
        }
        if let Some(kept) = answers.get_mut(place) {
            *kept = answer(names);
        }
    }
    /// Returns the index of the answer to an input at a target in the list of all answers.
    fn place(&self, position: u64, target: usize) -> usize {
        let before = usize::try_from(position.saturating_sub(1)).unwrap_or(usize::MAX);
        let before = before.saturating_mul(self.targets);
        before.saturating_add(target)
    }

    /// Returns the index of a name in [`names`](Self::names), to which it is added if necessary; `None` if there are
    /// too many names.
    fn named(&mut self, name: &str) -> Option<NameIndex> {
        let mut names = self.names.iter();
        if let Some(place) = names.position(|known| known == name) {
            return NameIndex::try_from(place).ok();
        }
        let place = NameIndex::try_from(self.names.len()).ok()?;
        self.names.push(name.to_owned());
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::inputs::{Inputs, asks};

    /// Returns the position of each input, and the position of the input that it repeats, if any.
    fn repeats(inputs: &'static str, most: u64) -> Vec<(u64, Option<u64>)> {
        let mut all = Inputs::default();
        all.add("inputs", std::io::Cursor::new(inputs));
        let key_of: KeyOf = Box::new(|ask| {
            let text = ask.to_string();
            (text != "none").then(|| text.to_lowercase())
        });
        let mut all = Repeats::of(all, Some(key_of));
        all.most = most;
        let asks = asks(all, 1).map(|ask| ask.expect("in memory"));
        asks.map(|ask| (ask.position, ask.repeats)).collect()
    }

    #[test]
    fn r_b8_repeats_name_the_first_of_their_kind() {
        for (inputs, most, expected) in [
            (
                "a\nb\nA\na\nB\n",
                MOST,
                &[None, None, Some(1), Some(1), Some(2)][..],
            ),
            ("none\nnone\n", MOST, &[None, None]),
            // Only the first inputs are remembered, but their repeats are found wherever they are.
            ("a\nb\nb\na\n", 1, &[None, None, None, Some(1)]),
            ("a\nb\nb\na\n", 0, &[None, None, None, None]),
        ] {
            let found: Vec<_> = repeats(inputs, most)
                .into_iter()
                .map(|(_, first)| first)
                .collect();
            assert_eq!(found, expected, "{inputs:?} {most}");
        }
    }

    fn ask(position: u64, target: usize, repeats: Option<u64>) -> Ask {
        Ask {
            position,
            target,
            input: b"x".as_slice().into(),
            is_cut: false,
            origin: None,
            record: None,
            repeats,
        }
    }

    #[test]
    fn r_b8_a_repeat_has_the_answer_of_the_first_at_its_target() {
        let mut earlier = EarlierAnswers::new(2, true);
        for (position, target, outcome) in [
            (1, 0, OutcomeName::Delivered),
            (1, 1, OutcomeName::NoMatch),
            (2, 0, OutcomeName::Ambiguous),
        ] {
            let mut answer = Answer::default().ended(outcome).with_hits(Some(position));
            answer.records = vec!["b1".to_owned(), "b2".to_owned()];
            answer.ending.step_name = Some("ISBN".to_owned());
            earlier.add(&ask(position, target, None), "t", &answer);
        }
        for (first, target, outcome) in [
            (1, 0, OutcomeName::Delivered),
            (1, 1, OutcomeName::NoMatch),
            (2, 0, OutcomeName::Ambiguous),
        ] {
            let answer = earlier
                .answer(&ask(7, target, Some(first)))
                .expect("an answer");
            assert_eq!(answer.ending.outcome, outcome);
            assert_eq!(answer.exit, Answer::default().ended(outcome).exit);
            assert_eq!(answer.ending.hits, Some(first));
            assert_eq!(answer.records, ["b1 | b2"]);
            assert_eq!(answer.ending.step_name.as_deref(), Some("ISBN"));
            assert_eq!(answer.ending.target.as_deref(), Some("t"));
            assert_eq!(answer.message, Some(format!("same as input {first}")));
        }
        assert!(earlier.answer(&ask(7, 0, None)).is_none());
        assert_eq!(earlier.repeats, 0);
        earlier.add(&ask(7, 0, Some(1)), "t", &Answer::default());
        assert_eq!(earlier.repeats, 1);
    }
}
