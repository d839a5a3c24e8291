//! A part of the caller's text with its offset. Parsers split spans into smaller spans, so that every error has an
//! offset.

use super::error::{UrlError, UrlErrorKind};

/// Octets of the caller's text, and the 0-based offset of the first octet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    octets: &'a [u8],
    start: usize,
}

impl<'a> Span<'a> {
    /// Creates a span that covers a complete text.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Span {
            octets: text,
            start: 0,
        }
    }

    /// Returns the octets as written, including escapes.
    pub(crate) fn octets(self) -> &'a [u8] {
        self.octets
    }

    /// Returns the offset of the first octet in the caller's text.
    pub(crate) fn start(self) -> usize {
        self.start
    }

    /// Returns the span as text in its original letter case. The span must be graphic ASCII.
    pub(crate) fn to_text(self) -> String {
        self.octets.iter().copied().map(char::from).collect()
    }

    pub(crate) fn is_empty(self) -> bool {
        self.octets.is_empty()
    }

    pub(crate) fn first(self) -> Option<u8> {
        self.octets.first().copied()
    }

    /// Returns the first octet and the rest of the span; `None` if the span is empty.
    pub(crate) fn split_first(self) -> Option<(u8, Self)> {
        let (&first, _) = self.octets.split_first()?;
        Some((first, self.split_at(1).1))
    }

    /// Splits the span after the first `index` octets, or at its end if it is shorter.
    pub(crate) fn split_at(self, index: usize) -> (Self, Self) {
        let index = index.min(self.octets.len());
        let (head, tail) = self.octets.split_at(index);
        (
            Span {
                octets: head,
                start: self.start,
            },
            Span {
                octets: tail,
                start: self.start + index,
            },
        )
    }

    /// Splits the span before the first of `delimiters`. The second part begins with the delimiter, or is empty if
    /// there is none.
    pub(crate) fn cut(self, delimiters: &[u8]) -> (Self, Self) {
        let index = self
            .octets
            .iter()
            .position(|octet| delimiters.contains(octet));
        self.split_at(index.unwrap_or(self.octets.len()))
    }

    /// Splits the span at the first `delimiter`, if there is one.
    pub(crate) fn split_once(self, delimiter: u8) -> Option<(Self, Self)> {
        let (head, tail) = self.cut(&[delimiter]);
        Some((head, tail.strip_prefix(&[delimiter])?))
    }

    /// Splits the span at the last `delimiter`, if there is one.
    pub(crate) fn rsplit_once(self, delimiter: u8) -> Option<(Self, Self)> {
        let index = self.octets.iter().rposition(|&octet| octet == delimiter)?;
        let (head, tail) = self.split_at(index);
        Some((head, tail.strip_prefix(&[delimiter])?))
    }

    /// Returns the part after `prefix`, if the span begins with it.
    pub(crate) fn strip_prefix(self, prefix: &[u8]) -> Option<Self> {
        self.octets
            .starts_with(prefix)
            .then(|| self.split_at(prefix.len()).1)
    }

    /// Splits the span at each `delimiter`. Parts may be empty. There is one more part than there are delimiters.
    pub(crate) fn split(self, delimiter: u8) -> impl Iterator<Item = Self> {
        self.octets
            .split(move |&octet| octet == delimiter)
            .scan(self.start, |start, octets| {
                let part = Span {
                    octets,
                    start: *start,
                };
                *start += octets.len() + 1;
                Some(part)
            })
    }

    /// Returns the part after `prefix`, or an error with the advice `remedy` if the span does not begin with it.
    pub(crate) fn after(self, prefix: &[u8], remedy: &'static str) -> Result<Self, UrlError> {
        let error = || self.fail(UrlErrorKind::MissingPart).advising(remedy);
        self.strip_prefix(prefix).ok_or_else(error)
    }

    /// Returns an error at the first octet that is not allowed.
    pub(crate) fn allow_only(
        self,
        is_allowed: impl Fn(u8) -> bool,
        kind: UrlErrorKind,
    ) -> Result<(), UrlError> {
        match self.octets.iter().position(|&octet| !is_allowed(octet)) {
            Some(index) => Err(self.fail_at(index, kind)),
            None => Ok(()),
        }
    }

    /// Creates an error at the first octet or, if the span is empty, at the offset where an octet was expected.
    pub(crate) fn fail(self, kind: UrlErrorKind) -> UrlError {
        UrlError::new(kind, self.start, self.first())
    }

    /// Creates an error at the offset `index` octets after the start.
    pub(crate) fn fail_at(self, index: usize, kind: UrlErrorKind) -> UrlError {
        self.split_at(index).1.fail(kind)
    }
}
