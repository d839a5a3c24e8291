//! `z3950 order`: orders a document, identified by its position in a result set, by a request file, or by both (Z39.50-2003 Appendix
//! EXT.4).

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::{Args, ValueEnum};
use z3950::RecordForm;
use z3950::error::{Diagnostics, Error, Phase};
use z3950::pager::Pager;
use z3950::retrieve::OutcomeName;
use z3950::service::extended::{Order as Ordered, TaskResult, ill_request_for, ill_request_of};
use z3950::service::search::SearchOptions;
use z3950::service::{DEFAULT_RESULT_SET, ResultRecord};
use z3950::session::Session;
use z3950_asn1::apdu::{External, Query, RpnQuery};
use z3950_asn1::es::item_order::{Billing, Contact, PaymentMethod};
use z3950_asn1::oid::XML;
use z3950_asn1::record::RetrievedRecord;
use z3950_asn1::record::sutrs_external;

use crate::answer::{Answer, Envelope};
use crate::commands::complete;
use crate::commands::query::{self, QueryLanguage};
use crate::commands::target::{NamedTarget, Service, TargetClient};
use crate::commands::task::{self, TaskOptions};
use crate::console::exit::Exit;
use crate::console::input::read_whole;
use crate::console::output::{Failure, Output};
use crate::render::matching;

/// The maximum size of a request or description file, in octets.
const MAX_FILE: u64 = 16 << 20;

/// What to order, for whom, and how to pay.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A query that finds the document; optional with --request.
    #[arg(
        value_name = "QUERY",
        allow_hyphen_values = true,
        required_unless_present = "request"
    )]
    query: Option<OsString>,

    #[command(flatten)]
    language: QueryLanguage,

    /// The database to search, instead of the target's; may be repeated.
    #[arg(long = "database", value_name = "NAME", add = complete::database())]
    databases: Vec<String>,

    /// The position of the record to order, if the search finds several.
    #[arg(long, value_name = "POSITION", requires = "query", value_parser = clap::value_parser!(i64).range(1..))]
    item: Option<i64>,

    /// Read the request from a file: an XML document, or an ISO 10161 ILL-Request in BER; - is standard input.
    #[arg(long, value_name = "FILE")]
    request: Option<PathBuf>,

    /// Request a loan with an ISO 10161 ILL-Request, filled in with the author, title and numbers of the record.
    #[arg(long, requires = "query", conflicts_with = "request")]
    ill: bool,

    /// Read a supplemental description from a file, XML or text; - is standard input.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    description: Option<PathBuf>,

    /// The name of the person to contact about the order.
    #[arg(long, value_name = "NAME")]
    contact_name: Option<String>,

    /// The telephone number of the contact.
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    contact_phone: Option<String>,

    /// The e-mail address of the contact.
    #[arg(long, value_name = "ADDRESS")]
    contact_email: Option<String>,

    /// How the order is paid.
    #[arg(long, value_enum, value_name = "HOW", hide_short_help = true)]
    payment: Option<Payment>,

    /// The customer reference of the payer.
    #[arg(
        long,
        value_name = "TEXT",
        requires = "payment",
        hide_short_help = true
    )]
    customer_reference: Option<String>,

    /// The payer's purchase order number.
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "payment",
        hide_short_help = true
    )]
    purchase_order: Option<String>,

    /// Print a JSON object.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    task: TaskOptions,
}

/// How an order is paid. Credit card numbers do not belong on a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Payment {
    /// By invoice.
    Invoice,
    /// In advance.
    Prepay,
    /// From a deposit account.
    Deposit,
    /// With the card already known to the server.
    Card,
    /// By private arrangement.
    Private,
}

impl Service for Arguments {
    const NAME: &'static str = "order";
    const SUMMARY: &'static str =
        "order a document, as z3950 order does; order --help lists the options";
    const INTERRUPTED: Option<&'static str> = Some("interrupted; the order may have been placed");

    fn databases(&self) -> &[String] {
        &self.databases
    }

    fn check(&self) -> Result<(), Failure> {
        query::check(&self.language, &self.query)
    }

    async fn perform(
        &self,
        reach: &TargetClient,
        place: &NamedTarget,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let read = |text| query::asked(text, &self.language, &reach.dialects, output);
        let wanted = self.query.as_deref().map(read).transpose()?;
        let order = ordered(self)?;
        let envelope = Envelope::of(place, &["query", "position", "task"])
            .with("query", wanted.as_ref().map(ToString::to_string))
            .with("position", self.item);
        match perform(self, reach, place, wanted.as_ref(), order).await {
            Ok((hits, result)) => {
                let envelope = envelope.with("hits", hits);
                task::show(self.json, place, envelope, &result, output)
            }
            Err(answer) => answer.report(self.json, envelope, place, output),
        }
    }
}

/// Searches for the item and orders it. Returns the number of hits if a search was made, and the result of the order or
/// the reason why nothing was ordered.
async fn perform(
    arguments: &Arguments,
    reach: &TargetClient,
    place: &NamedTarget,
    wanted: Option<&RpnQuery>,
    mut order: Ordered,
) -> Result<(Option<u64>, TaskResult), Box<Answer>> {
    if place.resolved.endpoint.is_sru() {
        let answer = Answer::default().ended(OutcomeName::NotGranted);
        return Err(Box::new(answer.saying("SRU has no orders")));
    }
    let wanted = wanted.map(|query| place.adapted(query)).transpose()?;
    let session = reach.session(place).await?;
    let mut set = match wanted {
        None => None,
        Some(query) => {
            reach.note_search();
            Some(search(&session, place, query).await?)
        }
    };
    let hits = set.as_ref().map(Pager::count);
    let not_ordered = |name, words: String| {
        let answer = Answer::default().ended(name).saying(words);
        Err(Box::new(answer.with_hits(hits)))
    };
    let position = match (hits, arguments.item) {
        (None, _) => None,
        (Some(0), _) => {
            let words = "no record matches, so nothing was ordered".to_owned();
            return not_ordered(OutcomeName::NoMatch, words);
        }
        (Some(hits @ 2..), None) => {
            let words =
                format!("{hits} records match, so nothing was ordered; choose one with --item");
            return not_ordered(OutcomeName::Ambiguous, words);
        }
        (Some(found), Some(item)) if u64::try_from(item).is_ok_and(|item| item > found) => {
            let words = format!("{}, fewer than --item says", matching(found));
            return not_ordered(OutcomeName::OutOfRange, words);
        }
        (Some(_), item) => Some(item.unwrap_or(1)),
    };
    order.item = position.map(|position| (DEFAULT_RESULT_SET.into(), position));
    if let (Some(position), Some(set)) = (position.filter(|_| arguments.ill), &mut set) {
        match loan(set, place, position).await? {
            Ok(request) => order.request = request,
            Err(words) => {
                let words = format!("{words}, so nothing was ordered");
                return not_ordered(OutcomeName::NoRequest, words);
            }
        }
    }
    let task = order
        .task()
        .map_err(|error| Error::fault(Phase::ExtendedServices, error))?;
    let result = session
        .task_outcome(arguments.task.applied_to(task))
        .await?;
    reach.leave(session).await;
    Ok((hits, result))
}

/// Searches, and returns a pager that tries the MARC record syntaxes one after the other.
async fn search(session: &Session, place: &NamedTarget, query: RpnQuery) -> Result<Pager, Error> {
    let mut search = SearchOptions::default();
    search.databases = place.resolved.databases();
    let mut options = place.resolved.pager_options(&RecordForm::default());
    options.alternatives.retain(|syntax| *syntax != Some(XML));
    session.pager(Query::Type1(query), &search, options).await
}

/// Returns the request for a loan of the item described by the record at a 1-based position, or the reason why the
/// request cannot be built.
async fn loan(
    set: &mut Pager,
    place: &NamedTarget,
    position: i64,
) -> Result<Result<Option<External>, String>, Error> {
    let position = u64::try_from(position).unwrap_or(1);
    let record = match set.record(position).await? {
        ResultRecord::Record { external, .. } => RetrievedRecord::of(&external),
        ResultRecord::Diagnostic { diagnostic, .. } => {
            return Ok(Err(Diagnostics(vec![diagnostic]).to_string()));
        }
    };
    let RetrievedRecord::Marc(octets) = record else {
        return Ok(Err("the record is not a MARC record".to_owned()));
    };
    let request = ill_request_for(&octets, place.charset(None), SystemTime::now());
    Ok(request.map_err(|error| z3950::error::chain(&error)))
}

/// Returns the order that the arguments describe, without its item.
fn ordered(arguments: &Arguments) -> Result<Ordered, Failure> {
    let text = |text: &Option<String>| text.as_deref().map(Into::into);
    let contact = Contact {
        name: text(&arguments.contact_name),
        phone: text(&arguments.contact_phone),
        email: text(&arguments.contact_email),
    };
    let billing = arguments.payment.map(|payment| Billing {
        payment_method: match payment {
            Payment::Invoice => PaymentMethod::BillInvoice,
            Payment::Prepay => PaymentMethod::Prepay,
            Payment::Deposit => PaymentMethod::DepositAccount,
            Payment::Card => PaymentMethod::CardInfoPreviouslySupplied,
            Payment::Private => PaymentMethod::PrivateKnown,
        },
        customer_reference: text(&arguments.customer_reference),
        customer_po_number: text(&arguments.purchase_order),
    });
    let file = |path: &Option<PathBuf>, read: fn(Vec<u8>) -> Option<External>| match path {
        None => Ok(None),
        Some(path) => {
            let octets = read_whole(path, MAX_FILE)?;
            let unusable = || Failure::Input {
                path: path.display().to_string(),
                error: "neither an XML document nor anything else allowed there".into(),
            };
            read(octets).map(Some).ok_or_else(unusable)
        }
    };
    let mut ordered = Ordered::default();
    ordered.request = file(&arguments.request, request)?;
    ordered.contact = Some(contact).filter(|contact| *contact != Contact::default());
    ordered.billing = billing;
    ordered.description = file(&arguments.description, description)?;
    Ok(ordered)
}

/// Returns the EXTERNAL for a request, which is an XML document, or an ILL-Request as one BER value.
fn request(octets: Vec<u8>) -> Option<External> {
    if is_xml(&octets) {
        return Some(External::octet_aligned(XML, octets));
    }
    ill_request_of(octets)
}

/// Returns the EXTERNAL for a description, which is an XML document or text.
fn description(octets: Vec<u8>) -> Option<External> {
    if is_xml(&octets) {
        Some(External::octet_aligned(XML, octets))
    } else {
        sutrs_external(std::str::from_utf8(&octets).ok()?)
    }
}

fn is_xml(octets: &[u8]) -> bool {
    octets.trim_ascii_start().starts_with(b"<")
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::oid::{ILL, SUTRS};

    #[test]
    fn requests_are_documents_or_ber_values() {
        for (octets, syntax) in [
            (&b"<ill/>"[..], Some(XML)),
            (b"\x61\x03\x80\x01\x01", Some(ILL)),
            (b"\x61\x80\x80\x01\x01\x00\x00", Some(ILL)),
            (b"\x61\x03\x80\x01\x01\x00", None),
            (b"\x61\x04\x80\x01\x01", None),
            (b"words", None),
            (b"", None),
        ] {
            let found = request(octets.to_vec()).and_then(|external| external.direct_reference);
            assert_eq!(found, syntax, "{octets:?}");
        }
        for (octets, syntax) in [
            (&b" <a/>"[..], Some(XML)),
            (b"words", Some(SUTRS)),
            (b"\xff", None),
        ] {
            let found = description(octets.to_vec()).and_then(|external| external.direct_reference);
            assert_eq!(found, syntax, "{octets:?}");
        }
    }
}
