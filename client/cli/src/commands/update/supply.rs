//! Reads the records of an update from files in any format, one at a time, and encodes them for sending.

use std::collections::VecDeque;
use std::io::Read;
use std::path::PathBuf;

use z3950_asn1::apdu::External;
use z3950_asn1::es::update::{Action, RecordId};
use z3950_asn1::oid::{APPLICATION_XML, Oid, SUTRS, XML};
use z3950_asn1::record::is_marc;
use z3950_asn1::record::marc_syntax;
use z3950_asn1::record::sutrs_external;
use z3950_marc::Form;
use z3950_marc::MarcRecord;
use z3950_marc::charset::{Options, to_utf8};
use z3950_marc::faults::faults;
use z3950_marc::marcxml;
use z3950_marc::stream::{InputForm, InputRecord, MAX_RECORD, RecordReader};

use super::arguments::{Arguments, IdType, Variant};
use crate::console::input::{readable, watched};
use crate::console::output::Failure;
use crate::render::shown;

/// A record to be sent to the server.
pub(super) struct UpdateRecord {
    /// The origin of the record: the name of a file and the record's number in this file, or `--id`.
    pub(super) origin: String,
    /// The 1-based number of the record among all records.
    pub(super) number: u64,
    /// The identifier of the record, if known, for use in messages.
    pub(super) name: Option<String>,
    /// The identifier to send with the record; `None` to send none.
    pub(super) id: Option<RecordId>,
    pub(super) record: External,
    /// The faults in the record's structure, which do not prevent it from being sent. They are listed only in a dry
    /// run.
    pub(super) faults: Vec<String>,
}

/// The next record, or the reason why it cannot be sent.
type Next = Result<Box<UpdateRecord>, String>;

/// The source of the records named by the arguments.
pub(crate) struct UpdateSource<'a> {
    arguments: &'a Arguments,
    files: std::slice::Iter<'a, PathBuf>,
    ids: VecDeque<RecordId>,
    open: Option<(String, RecordReader<Box<dyn Read>>)>,
    count: u64,
}

impl<'a> UpdateSource<'a> {
    /// Creates the source of the records that the arguments name.
    ///
    /// # Errors
    /// Fails if the arguments conflict.
    pub(super) fn new(arguments: &'a Arguments) -> Result<Self, Failure> {
        let usage = |words: &str| Err(Failure::Usage(words.to_owned()));
        let is_delete = arguments.action == Action::RECORD_DELETE;
        match (arguments.files.is_empty(), arguments.ids.is_empty()) {
            (true, true) if is_delete => {
                return usage(
                    "name the records by --id, or a file of them, or - for standard input",
                );
            }
            (true, true) => return usage("name a file of records, or - for standard input"),
            (true, false) if !is_delete => return usage("an --id alone is enough only to delete"),
            _ => {}
        }
        if arguments.service == Variant::Xml {
            let is_plain = arguments.ids.is_empty()
                && !arguments.id_from_001
                && arguments.syntax.is_none()
                && arguments.schema.is_none()
                && arguments.element_set.is_none()
                && arguments.per_request == 1;
            if arguments.action != Action::SPECIAL_UPDATE || !is_plain {
                return usage(
                    "documents of --version xml name the action themselves: use the action special, and no options for records",
                );
            }
        }
        if let Some(syntax) = arguments.syntax
            && !arguments.whole
            && !is_xml(&syntax)
            && !is_marc(&syntax)
        {
            return usage("records are put into XML and MARC only; --whole sends a file as it is");
        }
        if arguments.service == Variant::First && arguments.action == Action::SPECIAL_UPDATE {
            return usage("version 1 has no special update; insert or replace");
        }
        readable(&arguments.files)?;
        let ids = arguments
            .ids
            .iter()
            .map(|id| record_id(id, arguments.id_type));
        Ok(Self {
            arguments,
            files: arguments.files.iter(),
            ids: ids.collect::<Result<_, _>>()?,
            open: None,
            count: 0,
        })
    }

    /// Returns the next record; `None` after the last record.
    pub(super) fn next(&mut self) -> Result<Option<Next>, Failure> {
        if self.arguments.files.is_empty() {
            let id = self.ids.pop_front();
            return Ok(id.map(|id| self.named(id)));
        }
        loop {
            if let Some((name, reader)) = &mut self.open {
                match reader.next() {
                    Some(Ok(found)) => {
                        let origin = format!("{name} record {}", found.number);
                        let form = reader.form();
                        return self.found(origin, form, found).map(Some);
                    }
                    Some(Err(error)) => return Err(Failure::input(name, &error)),
                    None => self.open = None,
                }
            }
            let Some(path) = self.files.next() else {
                return self.all_ids_used().map(|()| None);
            };
            let name = path.display().to_string();
            let input = watched(path).map_err(|error| Failure::input(&name, &error))?;
            if self.arguments.whole || self.arguments.service == Variant::Xml {
                return self.whole(name, input).map(Some);
            }
            let reader = RecordReader::guessing(input, InputForm::Marc)
                .map_err(|error| Failure::input(&name, &error))?;
            self.open = Some((name, reader));
        }
    }

    /// Returns the record to send for the deletion of the record with this identifier. Its contents are a placeholder.
    fn named(&mut self, id: RecordId) -> Next {
        let record = External::octet_aligned(XML, &b"<record/>"[..]);
        self.supplied("--id".to_owned(), Some(id), None, record)
    }

    fn found(
        &mut self,
        origin: String,
        form: InputForm,
        found: InputRecord,
    ) -> Result<Next, Failure> {
        let record = match found.record {
            // An incomplete record must not replace a complete one.
            Ok(_) if found.incomplete => Err(found.notes.join("; ")),
            other => other,
        };
        let record = match record {
            Ok(record) => record,
            Err(reason) => return Ok(Err(format!("{origin}: {reason}"))),
        };
        let control_number = record.control_number().map(shown);
        let id = if self.arguments.id_from_001 {
            match &control_number {
                Some(number) => Some(record_id(number, self.arguments.id_type)?),
                None => return Ok(Err(format!("{origin}: no control number"))),
            }
        } else {
            self.next_id()?
        };
        let faults = if self.arguments.dry_run {
            faults(&record, &to_utf8(&record, &Options::default()))
        } else {
            Vec::new()
        };
        Ok(match self.external(form, &record) {
            Ok(external) => self
                .supplied(origin, id, control_number, external)
                .map(|supplied| {
                    Box::new(UpdateRecord {
                        faults,
                        ..*supplied
                    })
                }),
            Err(reason) => Err(format!("{origin}: {reason}")),
        })
    }

    /// Encodes the record in the requested syntax or, by default, in the syntax that corresponds to the format of the
    /// input.
    fn external(&self, form: InputForm, record: &MarcRecord) -> Result<External, String> {
        let syntax = self.arguments.syntax.unwrap_or_else(|| match form {
            InputForm::MarcXml => XML,
            _ => marc_syntax(record),
        });
        if is_xml(&syntax) {
            let record = to_utf8(record, &Options::default()).record;
            let text = marcxml::to_xml(&record).text;
            return Ok(External::octet_aligned(syntax, text.into_bytes()));
        }
        let mut octets = Vec::new();
        let written = Form::Marc.write(record, &mut octets);
        written.map_err(|error| error.to_string())?;
        Ok(External::octet_aligned(syntax, octets))
    }

    fn whole(&mut self, name: String, input: Box<dyn Read>) -> Result<Next, Failure> {
        let mut octets = Vec::new();
        let most = u64::try_from(MAX_RECORD).unwrap_or(u64::MAX);
        input
            .take(most.saturating_add(1))
            .read_to_end(&mut octets)
            .map_err(|error| Failure::input(&name, &error))?;
        if octets.len() > MAX_RECORD {
            return Ok(Err(format!("{name}: more than {MAX_RECORD} octets")));
        }
        let looks_like_xml = octets.trim_ascii_start().starts_with(b"<");
        let syntax = match self.arguments.syntax {
            Some(syntax) => syntax,
            None if looks_like_xml => XML,
            None => return Err(Failure::Usage(format!("--whole needs --syntax for {name}"))),
        };
        let record = match syntax {
            // SUTRS is sent as an ASN.1 string, while XML and MARC are sent as octets.
            SUTRS => sutrs_external(&String::from_utf8_lossy(&octets)),
            _ => Some(External::octet_aligned(syntax, octets)),
        };
        let id = self.next_id()?;
        Ok(match record {
            Some(record) => self.supplied(name, id, None, record),
            None => Err(format!("{name}: cannot be sent")),
        })
    }

    fn supplied(
        &mut self,
        origin: String,
        id: Option<RecordId>,
        control_number: Option<String>,
        record: External,
    ) -> Next {
        self.count += 1;
        let name = match &id {
            Some(RecordId::Number(number)) => Some(number.to_string()),
            Some(RecordId::String(text)) => Some(shown(text.as_bytes())),
            Some(RecordId::Opaque(octets)) => Some(shown(octets.as_bytes())),
            None => control_number,
        };
        Ok(Box::new(UpdateRecord {
            origin,
            number: self.count,
            name,
            id,
            record,
            faults: Vec::new(),
        }))
    }

    /// Returns the identifier for the next record; `None` if `--id` was not given.
    fn next_id(&mut self) -> Result<Option<RecordId>, Failure> {
        if self.arguments.ids.is_empty() {
            return Ok(None);
        }
        let id = self.ids.pop_front();
        let too_few = || Failure::Usage("there are more records than --id options".to_owned());
        id.map(Some).ok_or_else(too_few)
    }

    fn all_ids_used(&self) -> Result<(), Failure> {
        match self.ids.len() {
            0 => Ok(()),
            left => Err(Failure::Usage(format!(
                "{left} --id options have no record"
            ))),
        }
    }
}

fn is_xml(syntax: &Oid) -> bool {
    matches!(*syntax, XML | APPLICATION_XML)
}

fn record_id(text: &str, kind: IdType) -> Result<RecordId, Failure> {
    Ok(match kind {
        IdType::Opaque => RecordId::Opaque(text.into()),
        IdType::String => RecordId::String(text.into()),
        IdType::Number => RecordId::Number(
            text.parse()
                .map_err(|_| Failure::Usage(format!("--id {text} is not a number")))?,
        ),
    })
}
