//! The state of a record, as stored by `pickle`.

use std::sync::Mutex;

use bytes::Bytes;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pythonize::depythonize;
use serde::{Deserialize, Serialize};
use z3950::RecordSource;
use z3950_asn1::apdu::{External, ExternalEncoding};
use z3950_asn1::oid::Oid;
use z3950_asn1::types::Any;
use z3950_marc::charset::Charset;
use z3950_marc::record::Leader;
use z3950_marc::stream::{InputForm, RecordReader};
use z3950_marc::{Form, MarcRecord, iso2709};

use super::{Marc, Record, Source};
use crate::error::Error;
use crate::marc::Numbered;
use crate::pickled::Pickled;

/// The state of a record, from which it can be restored.
#[derive(Deserialize, Serialize)]
pub(crate) struct State {
    received: Option<ReceivedState>,
    damage: Option<String>,
    /// The MARC record in UTF-8, encoded in ISO 2709, or as MARC-in-JSON if it is too long for ISO 2709; `None` if the
    /// record has not been changed since it was received.
    marc: Option<Bytes>,
    /// The leader as it was set. The lengths in it may differ from those in `marc`.
    leader: Option<Bytes>,
    is_changed: bool,
}

#[derive(Deserialize, Serialize)]
struct ReceivedState {
    syntax: Option<String>,
    is_ber: bool,
    octets: Bytes,
    database: Option<String>,
    position: Option<u64>,
    charset: Option<String>,
    sources: Vec<(String, Option<u64>, Option<String>)>,
}

impl Record {
    /// Returns the state of the record.
    pub(super) fn state(&self) -> PyResult<State> {
        let received = match &self.source {
            Source::Server(record) => Some(ReceivedState::of(record)?),
            Source::File(_) => None,
        };
        let is_changed = self.is_changed();
        let marc = self.as_marc().filter(|_| is_changed || received.is_none());
        let leader = marc
            .as_ref()
            .map(|record| Bytes::copy_from_slice(&record.leader.0));
        let marc = marc.map(|record| {
            iso2709::encode(&record).or_else(|_| {
                let mut text = Vec::new();
                let written = Form::Json.write(&record, &mut text);
                written
                    .map(|_| text)
                    .map_err(|error| Error::new_err(error.to_string()))
            })
        });
        Ok(State {
            received,
            damage: match &self.source {
                Source::File(damage) => damage.clone(),
                Source::Server(_) => None,
            },
            marc: marc.transpose()?.map(Bytes::from),
            leader,
            is_changed,
        })
    }

    /// Restores a record.
    fn of_state(state: State) -> PyResult<Self> {
        let marc = match (&state.marc, &state.leader) {
            (Some(octets), Some(leader)) => {
                Marc::Read(read_again(octets, leader, state.is_changed)?)
            }
            _ => Marc::Unread,
        };
        Ok(Self {
            source: match state.received {
                Some(received) => Source::Server(Box::new(received.restored()?)),
                None => Source::File(state.damage),
            },
            marc: Mutex::new(marc),
        })
    }
}

impl Pickled for Record {
    fn restored(state: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Self::of_state(depythonize(state)?)?.into_py_any(state.py())
    }
}

fn read_again(octets: &[u8], leader: &[u8], is_changed: bool) -> PyResult<Numbered> {
    let mut reader = RecordReader::guessing(octets, InputForm::Marc)?;
    let found = reader.next().transpose()?;
    let record = found
        .and_then(|found| found.record.ok())
        .ok_or_else(|| PyValueError::new_err("this state has no record"))?;
    let mut numbered = Numbered::from(MarcRecord {
        leader: Leader::padded(leader),
        ..record
    });
    numbered.is_changed = is_changed;
    Ok(numbered)
}

impl ReceivedState {
    fn of(record: &z3950::Record) -> PyResult<Self> {
        let (is_ber, octets) = match &record.external().encoding {
            ExternalEncoding::OctetAligned(octets) => (false, octets.to_vec()),
            ExternalEncoding::SingleAsn1Type(value) => (true, value.as_bytes().to_vec()),
            _ => return Err(Error::new_err("a record of bits cannot be pickled")),
        };
        let sources = record.sources().iter().cloned();
        Ok(Self {
            syntax: record.syntax().map(|syntax| syntax.to_string()),
            is_ber,
            octets: octets.into(),
            database: record.database().map(str::to_owned),
            position: record.position(),
            charset: record.charset().map(|charset| charset.name().to_owned()),
            sources: sources
                .map(|source| (source.database, source.position, source.id))
                .collect(),
        })
    }

    fn restored(self) -> PyResult<z3950::Record> {
        let broken = || PyValueError::new_err("this is no state of a record");
        let syntax = self
            .syntax
            .map(|syntax| syntax.parse::<Oid>())
            .transpose()
            .map_err(|_| broken())?;
        let encoding = if self.is_ber {
            ExternalEncoding::SingleAsn1Type(Any::new(self.octets).ok_or_else(broken)?)
        } else {
            ExternalEncoding::OctetAligned(self.octets.into())
        };
        let external = External {
            direct_reference: syntax,
            indirect_reference: None,
            descriptor: None,
            encoding,
        };
        let sources = self.sources.into_iter().map(|(database, position, id)| {
            let mut source = RecordSource::default();
            (source.database, source.position, source.id) = (database, position, id);
            source
        });
        let charset = self.charset.and_then(|name| Charset::by_name(&name));
        Ok(z3950::Record::new(external, self.position)
            .with_database(self.database)
            .with_sources(sources.collect())
            .with_charset(charset))
    }
}
