//! An input cut into records, by the rules of its form.

use std::io::{self, Read};

use bytes::Bytes;

use super::window::Window;
use super::{InputForm, json, lines, marc, xml};

/// The octets of one record.
#[derive(Debug, Default)]
pub(super) struct Piece {
    /// Where they stand in the input.
    pub(super) offset: u64,
    /// The number of their first line, from 1, in the forms that have lines.
    pub(super) line: usize,
    /// The octets.
    pub(super) octets: Bytes,
    /// Why they are no record, if that is seen without reading them.
    pub(super) damage: Option<String>,
    /// Whether the next record begins where this one has not ended, in forms in which it can be read all the same.
    pub(super) cut_off: bool,
}

/// The state of the cutting.
#[derive(Debug)]
pub(super) enum Cut {
    Marc(marc::Cutter),
    Xml(xml::Cutter),
    Json(json::Cutter),
    Lines(InputForm, lines::Cutter),
}

impl Cut {
    pub(super) fn new(form: InputForm) -> Self {
        match form {
            InputForm::Marc => Self::Marc(marc::Cutter),
            InputForm::MarcXml => Self::Xml(xml::Cutter::default()),
            InputForm::Json => Self::Json(json::Cutter::default()),
            InputForm::Mrk => Self::Lines(form, lines::Cutter::mrk()),
            InputForm::Line => Self::Lines(form, lines::Cutter::line()),
        }
    }

    pub(super) fn form(&self) -> InputForm {
        match self {
            Self::Marc(_) => InputForm::Marc,
            Self::Xml(_) => InputForm::MarcXml,
            Self::Json(_) => InputForm::Json,
            Self::Lines(form, _) => *form,
        }
    }

    /// The next piece; `None` behind the last.
    pub(super) fn next<R: Read>(&mut self, window: &mut Window<R>) -> io::Result<Option<Piece>> {
        match self {
            Self::Marc(cutter) => cutter.next(window),
            Self::Xml(cutter) => cutter.next(window),
            Self::Json(cutter) => cutter.next(window),
            Self::Lines(_, cutter) => cutter.next(window),
        }
    }
}
