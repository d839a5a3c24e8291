//! What an open session has agreed on and keeps, and which service answers which request (Z39.50-2003 §3.1.1, §3.2).

use std::sync::{Arc, OnceLock};

use z3950_asn1::apdu::{Apdu, DatabaseName, Options};
use z3950_asn1::bib1::diagnostics::Condition;

use super::{Interrupt, Reply};
use crate::backend::Backend;
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::extended::{EXTEND_DATABASE, PackageDatabase};
use crate::result_sets::ResultSets;
use crate::service::explain::EXPLAIN_DATABASE;
use crate::service::resource::{Held, Usage};
use crate::service::{access, delete, extended, present, refuse, resource, scan, search, sort};
use crate::target::{Seat, Target};

/// What is agreed on and kept in an open session.
pub(crate) struct Association {
    pub(crate) target: Arc<Target>,
    pub(crate) interrupt: Interrupt,
    pub(crate) terms: Terms,
    pub(crate) result_sets: ResultSets,
    /// The user, where the client has proved to be one.
    pub(crate) seat: Option<Seat>,
    /// What waits for an answer of the client.
    pub(crate) pending: Option<Pending>,
    pub(crate) usage: Usage,
    /// The database IR-Extend-1 as this user sees it, once it has been asked for.
    pub(crate) packages: OnceLock<Arc<PackageDatabase>>,
}

/// What Init has settled (Z39.50-2003 §3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The protocol version, 1 to 3.
    pub(crate) version: u8,
    /// The options in effect.
    pub(crate) options: Options,
    /// Octets of the records in one response.
    pub(crate) preferred_message_size: usize,
    /// Octets of a record asked for by itself; not less than the preferred message size.
    pub(crate) exceptional_record_size: usize,
    /// Whether the client is still to be asked for credentials.
    pub(crate) unproved: bool,
}

/// What waits for an answer of the client.
pub(crate) enum Pending {
    /// A request, for credentials.
    Request(Box<Apdu>),
    /// An answer, for leave to send it.
    Answer(Box<Held>),
}

impl Association {
    /// Carries an operation out; a request that begins none is refused with the reason.
    pub(super) async fn operate(&mut self, request: &Apdu) -> Result<Reply, &'static str> {
        if let Some(option) = option_of(request) {
            if !self.target.offer.options.contains(option) {
                let name = option.names().next().unwrap_or_default();
                let missing = diagnostic(Condition::NEGOTIATION_OPTION_REQUIRED, name);
                return Ok(refuse::answer(request, missing));
            }
            if self.terms.unproved {
                return Ok(access::challenge(self, request));
            }
        }
        Ok(match request {
            Apdu::SearchRequest(request) => {
                let response = search::answer(self, request).await;
                self.open_persistent_sets();
                response.into()
            }
            Apdu::PresentRequest(request) => {
                let responses = present::answer(self, request).await;
                self.open_persistent_sets();
                responses.into()
            }
            Apdu::DeleteResultSetRequest(request) => delete::answer(self, request)
                .ok_or("with a deleteFunction neither list nor all")?
                .into(),
            Apdu::ScanRequest(request) => scan::answer(self, request).await.into(),
            Apdu::SortRequest(request) => sort::answer(self, request).await.into(),
            Apdu::ExtendedServicesRequest(request) => {
                // In a box, so that the other operations need not have its room.
                Box::pin(extended::answer(self, request)).await.into()
            }
            Apdu::DuplicateDetectionRequest(_) => {
                let missing = diagnostic(Condition::SERVICE_NOT_FOR_DATABASE, "");
                refuse::answer(request, missing)
            }
            Apdu::ResourceReportRequest(request) => resource::report(self, request).into(),
            // It has no answer of its own, and the operation it is about is over (Z39.50-2003 §3.2.6.2).
            Apdu::TriggerResourceControlRequest(_) => Reply::default(),
            _ => return Err("from a client"),
        })
    }

    /// The backend behind the databases of a request.
    ///
    /// # Errors
    /// As [`Target::backend_of`]; 236 for a database that the user may not have.
    pub(crate) fn backend_of(
        &self,
        databases: &[DatabaseName],
    ) -> Result<Arc<dyn Backend>, Diagnostic> {
        if let Some(own) = self.own_database(databases) {
            return Ok(own);
        }
        let backend = self.target.backend_of(databases)?;
        if let Some(user) = self.seat.as_ref().and_then(Seat::user) {
            let denied = databases
                .iter()
                .find(|database| !user.may_have(&database.0.to_string_lossy()));
            if let Some(database) = denied {
                let name = database.0.as_bytes();
                return Err(diagnostic(Condition::DATABASE_ACCESS_DENIED, name));
            }
        }
        Ok(Arc::clone(backend))
    }

    /// The database of the server's own that a request names, if it names that alone: IR-Explain-1 or IR-Extend-1. With
    /// others it is as unknown as it is to their backend.
    fn own_database(&self, databases: &[DatabaseName]) -> Option<Arc<dyn Backend>> {
        let [database] = databases else {
            return None;
        };
        let name = database.0.to_string_lossy();
        let offer = &self.target.offer;
        if offer.explain && name.eq_ignore_ascii_case(EXPLAIN_DATABASE) {
            return Some(self.target.explain());
        }
        let has_tasks = offer.options.contains(Options::EXTENDED_SERVICES);
        (has_tasks && name.eq_ignore_ascii_case(EXTEND_DATABASE)).then(|| {
            let packages = self.packages.get_or_init(|| {
                let user = self.seat.as_ref().and_then(Seat::user);
                let user = user.map(|user| user.name.clone());
                Arc::new(PackageDatabase::new(Arc::clone(&self.target.tasks), user))
            });
            Arc::clone(packages) as Arc<dyn Backend>
        })
    }

    /// Takes over the persistent result sets whose packages have been presented (Z39.50-2003 Appendix EXT.1.1). Those that
    /// find no room are not there when they are asked for.
    fn open_persistent_sets(&mut self) {
        let opened = self.packages.get().map(|packages| packages.take_opened());
        for (name, set) in opened.into_iter().flatten() {
            let _ = self.result_sets.keep(&name, set);
        }
    }
}

/// The option that has to be offered for a request to be served; `None` for what is no operation.
fn option_of(request: &Apdu) -> Option<Options> {
    Some(match request {
        Apdu::SearchRequest(_) => Options::SEARCH,
        Apdu::PresentRequest(_) => Options::PRESENT,
        Apdu::DeleteResultSetRequest(_) => Options::DELETE,
        Apdu::ScanRequest(_) => Options::SCAN,
        Apdu::SortRequest(_) => Options::SORT,
        Apdu::ExtendedServicesRequest(_) => Options::EXTENDED_SERVICES,
        Apdu::ResourceReportRequest(_) => Options::RESOURCE_REPORT,
        Apdu::DuplicateDetectionRequest(_) => Options::DUPLICATE_DETECTION,
        _ => return None,
    })
}
