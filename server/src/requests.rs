//! Requests and backends for the tests of this crate.

mod messages;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::time::sleep;
use z3950_asn1::apdu::{Apdu, DatabaseName, External, Record, Records, Schema};
use z3950_asn1::oid::{Oid, SUTRS, USMARC};
use z3950_asn1::optional::OptionalChoice;

pub(crate) use self::messages::*;
use crate::access::User;
use crate::backend::{
    Answer, Backend, Caller, Composition, DatabaseInfo, Found, Hits, RecordId, Retrieve, Retrieved,
    Search, Update, ready,
};
use crate::diagnostic::Diagnostic;
use crate::limits::Limits;
use crate::memory::MemoryBackend;
use crate::passwords::PasswordHash;
use crate::session::{Reply, Session};
use crate::target::Target;
use crate::testing::record;

/// Returns the user `ann`, whose password is `secret`.
pub(crate) fn ann() -> User {
    User {
        name: "ann".to_owned(),
        password: Some("secret".to_owned()),
        ..User::default()
    }
}

/// Returns the user `ann` with a hash of the password `secret`.
pub(crate) fn hashed_ann() -> User {
    User {
        password: None,
        password_hash: Some(PasswordHash::with_low_costs(b"secret")),
        ..ann()
    }
}

/// Returns a database `cat` with one record `id7` and two records `dup`, and a database `B` with one record.
pub(crate) fn catalogue() -> Arc<dyn Backend> {
    let cat = [
        record("id7", "War and peace"),
        record("dup", "Emma"),
        record("dup", "Emma; war"),
    ];
    let databases = MemoryBackend::builder()
        .add_records("cat", cat)
        .and_then(|all| all.add_records("B", [record("b1", "Peace")]));
    Arc::new(databases.expect("small records").build())
}

/// Opens a version 3 session on a backend.
pub(crate) fn open(backend: Arc<dyn Backend>, limits: Limits) -> Session {
    open_on(Target::new(backend, limits))
}

/// Opens a version 3 session on a target.
pub(crate) fn open_on(target: Target) -> Session {
    let mut session = Session::new(Arc::new(target));
    let reply = now(session.answer(&init()));
    assert!(session.is_open(), "{reply:?}");
    session
}

/// Returns the output of a future that is ready immediately.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("nothing to wait for")
}

/// Returns the only APDU of a reply that does not end the connection.
pub(crate) fn only(reply: Reply) -> Apdu {
    let Reply {
        mut apdus,
        hang_up: false,
    } = reply
    else {
        panic!("{reply:?}")
    };
    let only = apdus.pop().filter(|_| apdus.is_empty());
    only.unwrap_or_else(|| panic!("not one APDU"))
}

/// A backend that finds records of these sizes, in octets, for any query. The octets of a record repeat the name of its element
/// set: F, B, S or M.
pub(crate) struct Sizes(pub(crate) Vec<usize>);

impl Backend for Sizes {
    fn search<'a>(&'a self, _: Search<'a>) -> Answer<'a, Found> {
        let records = (0..).zip(&self.0).map(|(number, _)| RecordId(number));
        ready(Ok(records.collect::<Hits>().into()))
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        [USMARC, SUTRS].contains(syntax)
    }

    fn has_element_set(&self, name: &str, _: Option<&Oid>) -> bool {
        ["F", "B", "S", "M"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    }

    fn element_set_of_schema(&self, schema: &Schema, _: Option<&Oid>) -> Option<String> {
        let medium = Schema::Uri("info:medium".into());
        (*schema == medium).then(|| "M".to_owned())
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        let size = self.0[wanted.record.0 as usize];
        let elements = wanted.composition.element_set("cat");
        let syntax = wanted.composition.syntax.unwrap_or(USMARC);
        let octets = elements.bytes().cycle().take(size).collect::<Vec<u8>>();
        ready(Ok(Retrieved::new(
            DatabaseName::from("cat"),
            Ok(External::octet_aligned(syntax, octets)),
        )))
    }
}

/// A backend whose searches take an hour. It counts the searches begun and dropped.
#[derive(Default)]
pub(crate) struct Slow {
    begun: AtomicUsize,
    given_up: Arc<AtomicUsize>,
}

/// A counter that is incremented when this value is dropped.
struct GivenUp(Arc<AtomicUsize>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Backend for Slow {
    fn databases(&self) -> Vec<DatabaseInfo> {
        vec![DatabaseInfo {
            name: "cat".to_owned(),
            ..DatabaseInfo::default()
        }]
    }

    fn has_syntax(&self, _: &Oid) -> bool {
        true
    }

    fn search<'a>(&'a self, _: Search<'a>) -> Answer<'a, Found> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let given_up = GivenUp(Arc::clone(&self.given_up));
        Box::pin(async move {
            sleep(Duration::from_secs(3600)).await;
            drop(given_up);
            std::future::pending().await
        })
    }

    fn update<'a>(&'a self, update: Update<'a>) -> Answer<'a, Vec<Result<Bytes, Diagnostic>>> {
        Box::pin(async move {
            sleep(Duration::from_secs(3600)).await;
            let ids = update.records.iter().map(|record| record.id.clone());
            Ok(ids.map(|id| Ok(id.unwrap_or_default())).collect())
        })
    }
}

impl Slow {
    /// Returns the number of searches begun, and the number of searches dropped.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (
            self.begun.load(Ordering::Relaxed),
            self.given_up.load(Ordering::Relaxed),
        )
    }
}

/// Returns a record from a backend by its number, in a syntax and element set.
pub(crate) fn record_of(
    backend: &dyn Backend,
    record: i64,
    syntax: Option<Oid>,
    element_set: &str,
) -> Result<External, Diagnostic> {
    let record = RecordId(record);
    let composition = Composition {
        element_set: element_set.to_owned(),
        ..Composition::full(syntax)
    };
    let wanted = Retrieve {
        caller: Caller::new(),
        hits: &[record].into_iter().collect(),
        record,
        composition: &composition,
    };
    now(backend.record(wanted))?.record
}

/// Describes the records in a response: the syntax, element set and size of each record, or its diagnostic. If there are no
/// records, describes what is sent instead of them.
pub(crate) fn shown(records: &OptionalChoice<Records>) -> String {
    match &**records {
        None => "none".to_owned(),
        Some(Records::NonSurrogateDiagnostic(diagnostic)) => {
            format!(
                "{} {}",
                diagnostic.condition,
                diagnostic.addinfo.to_string_lossy()
            )
        }
        Some(Records::MultipleNonSurDiagnostics(_)) => "several".to_owned(),
        Some(Records::ResponseRecords(records)) => {
            let shown: Vec<_> = records.iter().map(|entry| one(&entry.record)).collect();
            shown.join(", ")
        }
    }
}

fn one(record: &Record) -> String {
    use z3950_asn1::apdu::{DiagRec, ExternalEncoding};
    match record {
        Record::RetrievalRecord(external) => {
            let syntax = external.direct_reference.and_then(|syntax| syntax.name());
            match &external.encoding {
                ExternalEncoding::OctetAligned(octets) => {
                    let element_set = char::from(octets.first().copied().unwrap_or(b'-'));
                    format!("{} {element_set} {}", syntax.unwrap_or("?"), octets.len())
                }
                _ => syntax.unwrap_or("?").to_owned(),
            }
        }
        Record::SurrogateDiagnostic(DiagRec::DefaultFormat(diagnostic)) => {
            format!(
                "<{} {}>",
                diagnostic.condition,
                diagnostic.addinfo.to_string_lossy()
            )
        }
        other => format!("{other:?}"),
    }
}
